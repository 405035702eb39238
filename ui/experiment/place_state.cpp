#include "ui/experiment/place_state.h"

#include <QCoreApplication>

namespace tilescope::ui {

namespace {

QString tr(const char* text)
{
    return QCoreApplication::translate("PlaceState", text);
}

QString clock(const QDateTime& time)
{
    return time.toString(QStringLiteral("HH:mm"));
}

} // namespace

QString placeSentence(const QString& host, const PlaceState& state)
{
    switch (state.kind) {
    case PlaceState::Kind::Connecting:
        return tr("Connecting to %1").arg(host);
    case PlaceState::Kind::Installing:
        return tr("Copying Tilescope to %1: %2").arg(host, state.amount);
    case PlaceState::Kind::Pending:
        return tr("Waiting on %1: %2").arg(host, state.words);
    case PlaceState::Kind::Lost:
        return tr("%1 is out of reach since %2: %3. The sweep goes on there; the connection is tried again.")
            .arg(host, clock(state.since), state.words);
    case PlaceState::Kind::Fetching:
        return tr("Fetching the runs of %1: %2").arg(host, state.amount);
    case PlaceState::Kind::Ready:
        break;
    }
    return {};
}

QString placeWord(const PlaceState& state)
{
    switch (state.kind) {
    case PlaceState::Kind::Connecting:
        return tr("connecting");
    case PlaceState::Kind::Installing:
        return tr("installing");
    case PlaceState::Kind::Pending:
        return tr("pending");
    case PlaceState::Kind::Lost:
        return tr("offline since %1").arg(clock(state.since));
    case PlaceState::Kind::Fetching:
        return tr("fetching");
    case PlaceState::Kind::Ready:
        break;
    }
    return {};
}

} // namespace tilescope::ui
