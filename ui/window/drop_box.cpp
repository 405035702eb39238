#include "ui/window/drop_box.h"

#include "ui/kit/count_text.h"
#include "ui/kit/elided_text.h"
#include "ui/theme/theme.h"

#include <QFileInfo>
#include <QMimeData>
#include <QPainter>
#include <QUrl>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr double kBoxHeight = 52; // design pixels
constexpr double kRadius = 6;
constexpr double kVeil = 0.82; // share of the ground

bool endsAs(const QString& path, std::initializer_list<const char*> endings)
{
    return std::ranges::any_of(endings,
                               [&path](const char* ending) { return path.endsWith(QLatin1String(ending)); });
}

} // namespace

QStringList draggedPaths(const QMimeData& data)
{
    QStringList paths;
    for (const QUrl& url : data.urls())
        if (url.isLocalFile())
            paths << url.toLocalFile();
    return paths;
}

QString dropWords(const QStringList& paths)
{
    QStringList recordings;
    QStringList specs;
    QStringList traces;
    for (const QString& path : paths)
        (endsAs(path, {".tscope"})         ? recordings
         : endsAs(path, {".yaml", ".yml"}) ? specs
                                           : traces)
            << QFileInfo(path).fileName();
    if (paths.isEmpty())
        return {};
    if (traces.size() == paths.size())
        return traces.size() == 1 ? DropBox::tr("Import %1 as a run").arg(traces.front())
                                  : DropBox::tr("Import %1 as one run").arg(counted(traces.size(), "trace"));
    if (recordings.size() == paths.size())
        return recordings.size() == 1 ? DropBox::tr("Open %1").arg(recordings.front())
                                      : DropBox::tr("Open %1").arg(counted(recordings.size(), "recording"));
    if (specs.size() == paths.size() && specs.size() == 1)
        return DropBox::tr("Edit the spec %1").arg(specs.front());
    return DropBox::tr("Open %1").arg(counted(paths.size(), "file"));
}

DropBox::DropBox(Ground ground, QWidget* parent) : QWidget(parent), ground_(ground)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setObjectName(ground == Ground::Veil ? QStringLiteral("dropVeil") : QStringLiteral("dropBox"));
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void DropBox::setDrag(const QString& words)
{
    drag_ = words;
    update();
}

QSize DropBox::sizeHint() const
{
    return {sizes().of(300), sizes().of(kBoxHeight)};
}

void DropBox::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const bool isOver = !drag_.isEmpty();
    if (ground_ == Ground::Veil) {
        QColor veil = colours().surface;
        veil.setAlphaF(float(kVeil));
        painter.fillRect(rect(), veil);
    }
    painter.setRenderHint(QPainter::Antialiasing);
    const double margin = ground_ == Ground::Veil ? sizes().margin : 1;
    painter.setPen(
        QPen(isOver ? colours().accent : colours().strongLine, sizes().of(isOver ? 2 : 1), Qt::DashLine));
    const double radius = sizes().of(kRadius);
    painter.drawRoundedRect(QRectF(rect()).adjusted(margin, margin, -margin, -margin), radius, radius);
    painter.setFont(isOver ? Theme::instance().bold() : Theme::instance().body());
    const QString words = elidedText(
        isOver ? drag_ : tr("Drop recordings, traces, folders of traces or specs anywhere in this window"),
        painter.fontMetrics(), Qt::ElideMiddle, width() - 4 * sizes().margin);
    if (ground_ == Ground::Veil) { // the page's own words would shine through
        QRectF plate(0, 0, painter.fontMetrics().horizontalAdvance(words) + 2 * sizes().margin,
                     sizes().of(kBoxHeight));
        plate.moveCenter(QRectF(rect()).center());
        painter.setPen(Qt::NoPen);
        painter.setBrush(colours().surface);
        painter.drawRoundedRect(plate, radius, radius);
    }
    painter.setPen(isOver ? colours().accent : colours().dimText);
    painter.drawText(rect(), Qt::AlignCenter, words);
}

} // namespace tilescope::ui
