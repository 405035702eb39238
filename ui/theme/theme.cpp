#include "ui/theme/theme.h"

#include "ui/theme/restyling.h"
#include "ui/theme/style.h"
#include "ui/theme/style_sheet.h"

#include <QApplication>
#include <QEvent>
#include <QFontDatabase>
#include <QFontInfo>
#include <QFontMetricsF>
#include <QPalette>
#include <QToolTip>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

namespace tilescope::ui {

namespace {

// Columns of numbers need figures of one width.
bool hasTabularFigures(const QFont& font)
{
    const QFontMetricsF metrics(font);
    const double zero = metrics.horizontalAdvance(QLatin1Char('0'));
    for (char digit = '1'; digit <= '9'; ++digit)
        if (std::abs(metrics.horizontalAdvance(QLatin1Char(digit)) - zero) > 0.01)
            return false;
    return true;
}

QFont bodyFont()
{
    QFont font = QApplication::font();
    if (!hasTabularFigures(font))
        font.setFamilies({QStringLiteral("Noto Sans"), font.family()});
    font.setPointSizeF(9);
    return font;
}

QPalette qtPalette(const Palette& p)
{
    QPalette q;
    q.setColor(QPalette::Window, p.background);
    q.setColor(QPalette::WindowText, p.text);
    q.setColor(QPalette::Base, p.surface);
    q.setColor(QPalette::AlternateBase, p.raised);
    q.setColor(QPalette::Text, p.text);
    q.setColor(QPalette::PlaceholderText, p.dimText);
    q.setColor(QPalette::Button, p.surface);
    q.setColor(QPalette::ButtonText, p.text);
    q.setColor(QPalette::ToolTipBase, p.surface);
    q.setColor(QPalette::ToolTipText, p.text);
    q.setColor(QPalette::Highlight, p.selectedRow);
    q.setColor(QPalette::HighlightedText, p.text);
    q.setColor(QPalette::Link, p.accent);
    q.setColor(QPalette::LinkVisited, p.accent);
    q.setColor(QPalette::Mid, p.strongLine);
    q.setColor(QPalette::Dark, p.strongLine);
    q.setColor(QPalette::Light, p.raised);
    const QColor faint = blend(p.dimText, p.background, 0.55);
    q.setColor(QPalette::Disabled, QPalette::Text, faint);
    q.setColor(QPalette::Disabled, QPalette::WindowText, faint);
    q.setColor(QPalette::Disabled, QPalette::ButtonText, faint);
    return q;
}

} // namespace

Sizes::Sizes(const QFont& body) : scale_(std::max(0.75, QFontInfo(body).pixelSize() / 12.0))
{
    margin = of(16);
    gap = of(8);
    padding = of(12);
    radius = of(4);
    row = of(24);
    tallRow = of(28);
    header = of(24);
    field = of(24);
    tools = of(40);
    panelHeader = of(32);
    rail = of(72);
    railItem = of(52);
    dock = of(308);
    statusBar = of(28);
}

int Sizes::of(double designed) const
{
    return int(std::lround(designed * scale_));
}

Theme& Theme::instance()
{
    static Theme theme;
    return theme;
}

Theme::~Theme() = default;

Theme::Theme()
    : palette_(&Palette::light()), body_(bodyFont()), sizes_(body_), restyling_(std::make_unique<Restyling>())
{
    systemDark_ = systemIsDark();
    qApp->installEventFilter(this);
}

// Before we set a palette of our own, the application's is the desktop's.
bool Theme::systemIsDark() const
{
    return QApplication::palette().color(QPalette::Window).lightness() < 128;
}

// False if the colours stay: Qt would style every widget again.
bool Theme::choose(ThemeChoice choice)
{
    choice_ = choice;
    const bool dark = choice == ThemeChoice::Dark || (choice == ThemeChoice::System && systemDark_);
    const Palette& chosen = dark ? Palette::darkOne() : Palette::light();
    return std::exchange(palette_, &chosen) != &chosen;
}

void Theme::apply(ThemeChoice choice)
{
    if (!choose(choice) && styled_ && !isChanging())
        return;
    restyling_->stop();
    if (!styled_) {
        QApplication::setStyle(new Style);
        QApplication::setFont(body_);
        QToolTip::setFont(body_);
    }
    styled_ = true;
    restyling_->leaveOutHiddenPages();
    // Where a style sheet replaces another, Qt styles each widget once for every widget around it.
    qApp->setStyleSheet(QString());
    QApplication::setPalette(qtPalette(*palette_));
    qApp->setStyleSheet(styleSheet(*palette_, sizes_, small()));
    emit changed();
}

void Theme::change(ThemeChoice choice)
{
    if (!styled_)
        return apply(choice);
    if (!choose(choice))
        return; // a change that is under way reads the colours when it needs them
    if (isChanging())
        return apply(choice); // back before it ended
    restyling_->leaveOutHiddenPages();
    restyling_->start({[] { qApp->setStyleSheet(QString()); },
                       [this] { QApplication::setPalette(qtPalette(*palette_)); },
                       [this] { qApp->setStyleSheet(styleSheet(*palette_, sizes_, small())); }},
                      [this] { emit changed(); });
}

bool Theme::isChanging() const
{
    return restyling_->isUnderWay();
}

void Theme::styleWhenShown(QWidget& page)
{
    restyling_->styleWhenShown(page);
}

bool Theme::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::ThemeChange && watched == qApp && choice_ == ThemeChoice::System) {
        const bool dark = systemIsDark();
        if (dark != systemDark_) {
            systemDark_ = dark;
            change(ThemeChoice::System);
        }
    }
    return QObject::eventFilter(watched, event);
}

QFont Theme::bold() const
{
    QFont font = body_;
    font.setWeight(QFont::DemiBold);
    return font;
}

QFont Theme::small() const
{
    QFont font = body_;
    font.setPointSizeF(body_.pointSizeF() * 11 / 12);
    return font;
}

QFont Theme::large() const
{
    QFont font = body_;
    font.setPointSizeF(body_.pointSizeF() * 20 / 12);
    font.setWeight(QFont::DemiBold);
    return font;
}

QFont Theme::mono() const
{
    // For an unknown name fontconfig returns a proportional font of a similar name.
    QStringList names{QStringLiteral("Noto Sans Mono"), QStringLiteral("DejaVu Sans Mono")};
    names.removeIf([](const QString& name) { return !QFontDatabase::hasFamily(name); });
    QFont font(names << QStringLiteral("monospace"));
    font.setStyleHint(QFont::Monospace);
    font.setPointSizeF(body_.pointSizeF());
    return font;
}

} // namespace tilescope::ui
