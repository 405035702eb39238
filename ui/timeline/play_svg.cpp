#include "ui/timeline/play_svg.h"

#include "ui/theme/theme.h"
#include "ui/timeline/difference_band.h"
#include "ui/timeline/play_words.h"
#include "ui/timeline/timeline_frame.h"
#include "ui/timeline/timeline_marks.h"
#include "ui/timeline/timeline_painter.h"

#include <QBuffer>
#include <QFontInfo>
#include <QFontMetricsF>
#include <QPainter>
#include <QSvgGenerator>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace tilescope::ui {

namespace {

constexpr double kWordsPerSecond = 10; // changes of a header's words
constexpr int kPixelsPerInch = 96;
constexpr int kFewestWords = 20;
constexpr int kMostWords = 120;

QString colourText(const QColor& colour)
{
    return colour.name(QColor::HexRgb);
}

// Boxes as rectangles of one path for each colour, in the order in which the colours first occur: what lies above
// something else has a colour of its own.
class SvgTarget final : public BoxTarget {
public:
    // The space between the lanes belongs to the static part.
    void fill(int left, int right, int top, int bottom, QRgb colour) override
    {
        if (colour == colours().surface.rgb())
            return;
        add(left, right, top, bottom, colourText(QColor(colour)));
    }
    void hatch(int left, int right, int top, int bottom, QRgb colour, QRgb ground) override
    {
        fill(left, right, top, bottom, ground);
        hatched_ = QColor(colour);
        add(left, right, top, bottom, QStringLiteral("url(#hatch)"));
    }

    QString text()
    {
        QString text;
        if (hatched_.isValid())
            text += QStringLiteral(
                        "<pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
                        "<path d=\"M0 6L6 0\" stroke=\"%1\"/></pattern>\n")
                        .arg(colourText(hatched_));
        for (Path& path : paths_) {
            flush(path);
            text += QStringLiteral("<path fill=\"%1\" d=\"%2\"/>\n").arg(path.colour, path.d);
        }
        return text;
    }

private:
    struct Path {
        QString colour;
        QString d;
        QRect last; // that its neighbour may join
    };

    void add(int left, int right, int top, int bottom, const QString& colour)
    {
        if (left >= right || top >= bottom)
            return;
        const auto [found, isNew] = places_.try_emplace(colour, paths_.size());
        if (isNew)
            paths_.push_back({colour, {}, {}});
        Path& path = paths_[found->second];
        const QRect rect(left, top, right - left, bottom - top);
        if (rect.top() == path.last.top() && rect.height() == path.last.height() &&
            rect.left() == path.last.left() + path.last.width())
            return path.last.setRight(rect.right());
        flush(path);
        path.last = rect;
    }
    static void flush(Path& path)
    {
        const QRect& rect = path.last;
        if (!rect.isEmpty())
            path.d += QStringLiteral("M%1 %2h%3v%4h-%3z")
                          .arg(rect.left())
                          .arg(rect.top())
                          .arg(rect.width())
                          .arg(rect.height());
        path.last = {};
    }

    std::vector<Path> paths_;
    std::map<QString, std::size_t> places_;
    QColor hatched_;
};

// The drawing without the frame of its document.
QString drawn(const QSize& size, const std::function<void(QPainter&)>& draw)
{
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    QSvgGenerator svg;
    svg.setOutputDevice(&buffer);
    svg.setSize(size);
    svg.setViewBox(QRect(QPoint(0, 0), size));
    svg.setResolution(kPixelsPerInch);
    QPainter painter(&svg);
    draw(painter);
    painter.end();
    const QString text = QString::fromUtf8(buffer.data());
    const qsizetype from = text.indexOf(QStringLiteral("<defs>"));
    return text.mid(from, text.lastIndexOf(QStringLiteral("</svg>")) - from);
}

class SvgPlay {
public:
    SvgPlay(const TimelineScene& scene, const QSize& size, const PlayPart& part, double slowdown)
        : scene_(scene), size_(size), part_(part), slowdown_(slowdown),
          cycle_(part.length() * slowdown / 1e9 + kPlayRest)
    {
    }

    QString text(const QString& title)
    {
        QString text = QStringLiteral("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%1\" height=\"%2\" "
                                      "viewBox=\"0 0 %1 %2\">\n<title>%3</title>\n<desc>%4</desc>\n")
                           .arg(size_.width())
                           .arg(size_.height())
                           .arg(title.toHtmlEscaped(), slowdownText(slowdown_).toHtmlEscaped());
        text += drawn(size_, [this](QPainter& painter) {
            TimelineScene start = at(part_.from);
            start.play->hasMarks = false;
            painter_.paint(painter, start, size_.width(), size_.height(), true);
        });
        for (std::size_t s = 0; s < scene_.sections.size(); ++s)
            text += lanes(s);
        for (std::size_t s = 0; s < scene_.sections.size(); ++s)
            text += playhead(s) + words(s);
        text += finale();
        return text + QStringLiteral("</svg>\n");
    }

private:
    // Seconds after the start, as a share of the cycle.
    double share(double now) const
    {
        return std::clamp((now - part_.from) * slowdown_ / 1e9 / cycle_, 0.0, 1.0);
    }

    TimelineScene at(double now) const
    {
        TimelineScene scene = scene_;
        scene.play = PlayMoment{.part = part_, .now = now};
        return scene;
    }

    // An attribute that moves from one value to another until a moment, and stays.
    QString moving(const char* attribute, double from, double to, double until) const
    {
        return QStringLiteral("<animate attributeName=\"%1\" dur=\"%2s\" repeatCount=\"indefinite\" "
                              "values=\"%3;%4;%4\" keyTimes=\"0;%5;1\"/>")
            .arg(QLatin1String(attribute), number(cycle_), number(from), number(to), number(share(until)));
    }

    // Seen from one moment to another; the last of its kind to the end.
    QString seen(double from, double to, bool isLast) const
    {
        const QString begin = number(share(from));
        QString values = QStringLiteral("hidden;visible");
        QString times = QStringLiteral("0;") + begin;
        if (share(from) <= 0) {
            values = QStringLiteral("visible");
            times = QStringLiteral("0");
        }
        if (!isLast) {
            values += QStringLiteral(";hidden");
            times += QLatin1Char(';') + number(share(to));
        }
        return QStringLiteral("<animate attributeName=\"visibility\" calcMode=\"discrete\" dur=\"%1s\" "
                              "repeatCount=\"indefinite\" values=\"%2\" keyTimes=\"%3\"/>")
            .arg(number(cycle_), values, times);
    }

    static QString number(double value)
    {
        constexpr int kDigits = 9;
        return QString::number(value, 'g', kDigits);
    }

    static TimelineScene onlyBands(TimelineScene scene, std::size_t section)
    {
        std::erase_if(scene.layout.bands, [section](const Band& band) { return band.section != section; });
        return scene;
    }

    double x(std::size_t s, double now) const
    {
        return std::clamp(scene_.xOf(now * scene_.sections[s].stretch, size_.width()),
                          double(scene_.sizes.label), double(size_.width()));
    }

    // The lanes of a run behind a clip that grows.
    QString lanes(std::size_t s)
    {
        TimelineScene scene = onlyBands(scene_, s);
        scene.play.reset();
        const QRect plot = scene.plot(size_.width(), size_.height());
        SvgTarget target;
        const auto names = painter_.fillPlot(target, scene, size_.width(), size_.height());
        const double from = x(s, part_.from) - plot.left();
        const double to = x(s, std::max(part_.from, part_.ends[s])) - plot.left();
        QString text =
            QStringLiteral("<clipPath id=\"played-%1\"><rect x=\"%2\" y=\"%3\" width=\"%4\" height=\"%5\">%6"
                           "</rect></clipPath>\n<g clip-path=\"url(#played-%1)\">\n")
                .arg(s)
                .arg(plot.left())
                .arg(plot.top())
                .arg(number(to))
                .arg(plot.height())
                .arg(moving("width", from, to, part_.ends[s]));
        text += QStringLiteral("<g transform=\"translate(%1 %2)\">\n%3</g>\n")
                    .arg(plot.left())
                    .arg(plot.top())
                    .arg(target.text());
        const QFont font = Theme::instance().small();
        const double ascent = QFontMetricsF(font).ascent();
        std::vector<PlacedText> texts;
        for (const TimelinePainter::BoxName& name : names)
            texts.push_back({name.at + QPointF(0, ascent), font, name.colour, name.text});
        return text + textOf(texts) + QStringLiteral("</g>\n");
    }

    QString playhead(std::size_t s) const
    {
        if (part_.ends[s] <= 0)
            return {};
        const QRectF line = playheadOf(at(part_.from), s, size_.width(), size_.height());
        const double to = x(s, part_.ends[s]);
        return QStringLiteral("<rect x=\"%1\" y=\"%2\" width=\"%3\" height=\"%4\" fill=\"%5\">%6</rect>\n")
            .arg(number(to), number(line.top()), number(line.width()), number(line.height()),
                 colourText(colours().accent), moving("x", x(s, part_.from), to, part_.ends[s]));
    }

    // The words of a run's header, one set for each that differs.
    QString words(std::size_t s) const
    {
        const auto header = std::ranges::find_if(scene_.layout.bands, [s](const Band& band) {
            return band.kind == Band::Kind::Header && band.section == s;
        });
        if (header == scene_.layout.bands.end())
            return {};
        const QRect plot = scene_.plot(size_.width(), size_.height());
        const QRect area(0, plot.top() + scene_.topOf(*header), size_.width(), header->height);
        const double left = headerWordsAt(scene_, scene_.sections[s], area);
        const double seconds = part_.length() * slowdown_ / 1e9;
        const int count = std::clamp(int(seconds * kWordsPerSecond), kFewestWords, kMostWords);
        std::vector<std::pair<double, std::vector<PlacedText>>> sets;
        const auto add = [&](double now) {
            std::vector<PlacedText> set = playWords(at(now), s, left, area);
            if (sets.empty() || sets.back().second != set)
                sets.emplace_back(now, std::move(set));
        };
        std::vector<double> moments{part_.ends[s], part_.to};
        for (int i = 0; i < count; ++i)
            moments.push_back(part_.from + part_.length() * i / count);
        std::ranges::sort(moments);
        for (const double now : moments)
            if (now >= part_.from)
                add(now);
        QString text;
        for (std::size_t i = 0; i < sets.size(); ++i) {
            const bool isLast = i + 1 == sets.size();
            text += QStringLiteral("<g%1>%2%3</g>\n")
                        .arg(isLast ? QString() : QStringLiteral(" visibility=\"hidden\""),
                             seen(sets[i].first, isLast ? part_.to : sets[i + 1].first, isLast),
                             textOf(sets[i].second));
        }
        return text;
    }

    // Items drawn once all runs have ended: peaks of memory, and the differences between runs.
    QString finale()
    {
        const TimelineScene end = at(part_.to);
        const QRect plot = end.plot(size_.width(), size_.height());
        const QString body = drawn(size_, [&](QPainter& painter) {
            for (const Band& band : end.layout.bands) {
                const QRect area(0, plot.top() + end.topOf(band), size_.width(), band.height);
                if (band.kind == Band::Kind::Difference)
                    paintDifference(painter, end, band, area);
                else if (band.kind == Band::Kind::Lane)
                    paintMemoryPeak(painter, end, band, end.memoryRange(), area);
            }
        });
        return QStringLiteral("<g>%1%2</g>\n").arg(seen(part_.to, part_.to, true), body);
    }

    static QString textOf(const std::vector<PlacedText>& texts)
    {
        QString text;
        for (const PlacedText& each : texts) {
            const QFontInfo font(each.font);
            text += QStringLiteral("<text x=\"%1\" y=\"%2\" fill=\"%3\" font-family=\"%4\" font-size=\"%5\" "
                                   "font-weight=\"%6\" xml:space=\"preserve\">%7</text>")
                        .arg(number(each.at.x()), number(each.at.y()), colourText(each.colour), font.family())
                        .arg(font.pixelSize())
                        .arg(int(each.font.weight()))
                        .arg(each.text.toHtmlEscaped());
        }
        return text;
    }

    TimelineScene scene_;
    QSize size_;
    PlayPart part_;
    double slowdown_;
    double cycle_; // seconds
    TimelinePainter painter_;
};

} // namespace

PlaySvg playSvg(const TimelineScene& scene, const QSize& size, const PlayPart& part, double slowdown,
                const QString& title)
{
    PlaySvg svg;
    svg.text = SvgPlay(scene, size, part, slowdown).text(title).toUtf8();
    for (const char* element :
         {"<path", "<rect", "<text", "<polygon", "<polyline", "<line", "<ellipse", "<circle", "<image"})
        svg.elements += int(svg.text.count(element));
    return svg;
}

} // namespace tilescope::ui
