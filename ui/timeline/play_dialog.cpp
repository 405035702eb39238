#include "ui/timeline/play_dialog.h"

#include "core/base/current_error.h"
#include "ui/kit/controls.h"
#include "ui/kit/file_dialog.h"
#include "ui/kit/layouts.h"
#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QFormLayout>
#include <QProgressBar>
#include <QSettings>
#include <QSpinBox>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

constexpr int kLeastWidth = 300;
constexpr int kMostWidth = 4000;
constexpr const char* kFolderKey = "export/folder";

bool isGif(const SegmentedControl& format)
{
    return format.current() == 1;
}

} // namespace

PlayDialog::PlayDialog(TimelineScene scene, int width, const PlayPart& part, double slowdown,
                       const QString& name, QWidget* parent)
    : QDialog(parent), scene_(playScene(std::move(scene))), part_(part), name_(name),
      speeds_(slowdownsFor(part.length())),
      format_(new SegmentedControl({tr("animated SVG"), QStringLiteral("GIF")})),
      speed_(new ComboBox(tr("Speed"))), width_(new QSpinBox), holds_(new QLabel), progress_(new QProgressBar)
{
    setWindowTitle(tr("Export Play"));
    format_->setAccessibleName(tr("Format"));
    for (const double each : speeds_)
        speed_->addItem(slowdownText(each));
    const auto nearest = std::ranges::min_element(
        speeds_, {}, [slowdown](double each) { return std::abs(std::log(each / slowdown)); });
    speed_->setCurrentIndex(int(nearest - speeds_.begin()));
    width_->setRange(kLeastWidth, kMostWidth);
    width_->setValue(width);
    width_->setSuffix(QChar(0x2009) + QStringLiteral("px"));
    width_->setAccessibleName(tr("Width"));
    width_->setButtonSymbols(QAbstractSpinBox::NoButtons);
    holds_->setObjectName(QStringLiteral("holds"));
    holds_->setWordWrap(true);
    holds_->setMinimumWidth(sizes().of(320));
    progress_->setTextVisible(false);
    progress_->setAccessibleName(tr("Progress"));
    progress_->setRange(0, 1);
    progress_->setValue(0);
    auto* form = new QFormLayout;
    form->setHorizontalSpacing(sizes().margin);
    form->addRow(tr("As"), format_);
    form->addRow(tr("Speed"), speed_);
    form->addRow(tr("Width"), width_);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Save | QDialogButtonBox::Cancel);
    save_ = buttons->button(QDialogButtonBox::Save);
    save_->setText(tr("Save as…"));
    auto* layout = newLayout<QVBoxLayout>(this, sizes().margin, sizes().padding);
    layout->addLayout(form);
    layout->addWidget(holds_);
    layout->addWidget(progress_);
    layout->addWidget(buttons);
    connect(format_, &SegmentedControl::changed, this, &PlayDialog::describe);
    connect(speed_, &QComboBox::currentIndexChanged, this, &PlayDialog::describe);
    connect(width_, &QSpinBox::valueChanged, this, &PlayDialog::describe);
    connect(buttons, &QDialogButtonBox::accepted, this, &PlayDialog::save);
    connect(buttons, &QDialogButtonBox::rejected, this, &PlayDialog::reject);
    connect(&next_, &QTimer::timeout, this, &PlayDialog::step);
    describe();
}

PlayExportOptions PlayDialog::options() const
{
    return {isGif(*format_) ? PlayExportOptions::Format::Gif : PlayExportOptions::Format::Svg,
            speeds_.at(std::size_t(std::max(0, speed_->currentIndex()))), playSize(scene_, width_->value()),
            name_};
}

void PlayDialog::describe()
{
    const PlayExportOptions chosen = options();
    const double seconds = part_.length() * chosen.slowdown / 1e9;
    const bool isTooLong = seconds > PlayExportOptions::kMostSeconds;
    QString text = tr("%1 of play, %2 × %3 pixels")
                       .arg(timeText(seconds * 1e9))
                       .arg(chosen.size.width())
                       .arg(chosen.size.height());
    if (chosen.format == PlayExportOptions::Format::Gif)
        text += tr(", %1 frames").arg(1 + int(std::ceil(seconds * PlayExportOptions::kFramesPerSecond)));
    if (isTooLong)
        text = tr("%1 of play: an export lasts at most %2 s. Choose a faster speed.")
                   .arg(timeText(seconds * 1e9))
                   .arg(PlayExportOptions::kMostSeconds);
    holds_->setProperty("kind", isTooLong ? "error" : "dim");
    holds_->style()->unpolish(holds_);
    holds_->style()->polish(holds_);
    holds_->setText(text);
    save_->setEnabled(!isTooLong);
}

void PlayDialog::save()
{
    const QString suffix = isGif(*format_) ? QStringLiteral("gif") : QStringLiteral("svg");
    const QString folder = QSettings().value(QLatin1String(kFolderKey), QDir::currentPath()).toString();
    QString file =
        fileToSave(this, tr("Export Play"), QDir(folder).filePath(name_ + QLatin1Char('.') + suffix),
                   QStringLiteral("*.%1").arg(suffix));
    if (file.isEmpty())
        return;
    if (QFileInfo(file).suffix().isEmpty())
        file += QLatin1Char('.') + suffix;
    QSettings().setValue(QLatin1String(kFolderKey), QFileInfo(file).path());
    write(file);
}

void PlayDialog::write(const QString& file)
{
    file_ = file;
    try {
        export_ = std::make_unique<PlayExport>(scene_, part_, options(), file);
    } catch (...) {
        return fail(QString::fromStdString(currentError().sentence()));
    }
    progress_->setRange(0, export_->frames());
    for (QWidget* field : {static_cast<QWidget*>(format_), static_cast<QWidget*>(speed_),
                           static_cast<QWidget*>(width_), static_cast<QWidget*>(save_)})
        field->setEnabled(false);
    next_.start(0);
}

// One frame for each turn of the event loop, so that the window keeps reacting.
void PlayDialog::step()
{
    try {
        const bool more = export_->step();
        progress_->setValue(export_->done());
        if (more)
            return;
    } catch (...) {
        return fail(QString::fromStdString(currentError().sentence()));
    }
    next_.stop();
    emit written(file_, export_->figures());
    accept();
}

void PlayDialog::fail(const QString& sentence)
{
    next_.stop();
    export_.reset();
    for (QWidget* field : {static_cast<QWidget*>(format_), static_cast<QWidget*>(speed_),
                           static_cast<QWidget*>(width_), static_cast<QWidget*>(save_)})
        field->setEnabled(true);
    describe();
    holds_->setText(sentence);
}

// A file that is not complete leaves nothing behind.
void PlayDialog::reject()
{
    next_.stop();
    export_.reset();
    QDialog::reject();
}

} // namespace tilescope::ui
