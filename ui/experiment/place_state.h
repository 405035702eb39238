#pragma once

#include <QDateTime>
#include <QString>

namespace tilescope::ui {

/// What the connection of a sweep on another machine is doing.
struct PlaceState {
    enum class Kind {
        Ready, ///< connected, or the sweep runs here
        Connecting,
        Installing, ///< Tilescope is copied there
        Pending,    ///< the scheduler there has not started the sweep
        Lost,       ///< and made again as soon as the host can be reached
        Fetching,   ///< the runs arrive
    } kind = Kind::Ready;
    QString words = {};   ///< why it is lost, or why the sweep waits; of the host, not escaped
    double fraction = 0;  ///< of what is copied or fetched
    QString amount = {};  ///< 9.9 of 16.0 MiB
    QDateTime since = {}; ///< when it was lost

    bool isLost() const { return kind == Kind::Lost; }
};

/// The state as a sentence of the page: "Connecting to gpubox". Empty if it is ready.
QString placeSentence(const QString& host, const PlaceState& state);
/// The state as a word of a list: "connecting", "offline since 09:41".
QString placeWord(const PlaceState& state);

} // namespace tilescope::ui
