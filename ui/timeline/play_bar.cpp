#include "ui/timeline/play_bar.h"

#include "ui/kit/controls.h"
#include "ui/theme/theme.h"
#include "ui/timeline/play_words.h"
#include "ui/timeline/timeline_player.h"

#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QSlider>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

constexpr int kPlaces = 10'000; // of the slider

} // namespace

PlayBar::PlayBar(TimelinePlayer& player, QWidget* parent)
    : QFrame(parent), player_(player), toggle_(new QPushButton(tr("Pause"))),
      slider_(new QSlider(Qt::Horizontal)), time_(new QLabel), speed_(new ComboBox(tr("Speed of Play")))
{
    setObjectName(QStringLiteral("playBar"));
    setFixedHeight(sizes().tools);
    toggle_->setAccessibleName(tr("Play or pause"));
    toggle_->setToolTip(tr("Play or pause (Space)"));
    const QFontMetrics metrics(Theme::instance().body());
    toggle_->setMinimumWidth(metrics.horizontalAdvance(tr("Play again")) + sizes().of(20));
    slider_->setRange(0, kPlaces);
    slider_->setSingleStep(kPlaces / 100);
    slider_->setPageStep(kPlaces / 10);
    slider_->setAccessibleName(tr("Instant of Play"));
    slider_->setToolTip(tr("Drag to an instant; , and . go to the start of a box"));
    time_->setObjectName(QStringLiteral("playTime"));
    time_->setAlignment(Qt::AlignVCenter | Qt::AlignRight);
    time_->setMinimumWidth(metrics.horizontalAdvance(QStringLiteral("000.0 of 000.0 ms")));
    speed_->setToolTip(tr("How much slower than recorded (< slower, > faster)"));
    auto* write = new QPushButton(tr("Export…"));
    write->setToolTip(tr("Export as animated SVG or GIF"));
    write->setAccessibleName(tr("Export Play"));
    auto* close = new QPushButton(tr("End"));
    close->setToolTip(tr("Show the whole runs again (Esc)"));
    close->setAccessibleName(tr("End Play"));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(sizes().margin, 0, sizes().margin, 0);
    layout->setSpacing(sizes().gap);
    layout->addWidget(toggle_);
    layout->addWidget(slider_, 1);
    layout->addWidget(time_);
    layout->addWidget(speed_);
    layout->addWidget(write);
    layout->addWidget(close);
    connect(toggle_, &QPushButton::clicked, &player_, &TimelinePlayer::toggle);
    connect(close, &QPushButton::clicked, &player_, &TimelinePlayer::end);
    connect(write, &QPushButton::clicked, this, &PlayBar::exportWanted);
    connect(slider_, &QSlider::valueChanged, this, &PlayBar::scrub);
    connect(speed_, &QComboBox::activated, this,
            [this](int at) { player_.setSlowdown(speeds_.at(std::size_t(at))); });
    connect(&player_, &TimelinePlayer::changed, this, &PlayBar::follow);
    hide();
}

void PlayBar::scrub(int place)
{
    const PlayPart& part = player_.clock().part();
    player_.goTo(part.from + part.length() * place / kPlaces);
}

void PlayBar::follow()
{
    setVisible(player_.isOn());
    if (!player_.isOn())
        return;
    const PlayClock& clock = player_.clock();
    const PlayPart& part = clock.part();
    const QString word = player_.isRunning() ? tr("Pause") : clock.atEnd() ? tr("Play again") : tr("Play");
    if (toggle_->text() != word)
        toggle_->setText(word);
    const QSignalBlocker quiet(slider_);
    slider_->setValue(int(std::lround((clock.now() - part.from) / part.length() * kPlaces)));
    time_->setText(playedText(clock.now(), part.to));
    fillSpeeds();
}

void PlayBar::fillSpeeds()
{
    const PlayClock& clock = player_.clock();
    if (length_ != clock.part().length()) {
        length_ = clock.part().length();
        speeds_ = slowdownsFor(length_);
        speed_->clear();
        for (const double each : speeds_)
            speed_->addItem(slowdownText(each));
    }
    for (std::size_t i = 0; i < speeds_.size(); ++i)
        if (std::abs(speeds_[i] - clock.slowdown()) < 1e-9 * speeds_[i] && speed_->currentIndex() != int(i))
            speed_->setCurrentIndex(int(i));
}

} // namespace tilescope::ui
