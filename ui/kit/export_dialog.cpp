#include "ui/kit/export_dialog.h"

#include "core/base/error.h"
#include "ui/kit/controls.h"
#include "ui/kit/file_dialog.h"
#include "ui/kit/layouts.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QDialogButtonBox>
#include <QDir>
#include <QFormLayout>
#include <QLabel>
#include <QPainter>
#include <QSettings>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QVBoxLayout>

namespace tilescope::ui {

namespace {

constexpr int kMostPixels = 20'000;
constexpr const char* kFolderKey = "export/folder";

QSpinBox* makePixels(const QString& name)
{
    auto* box = new QSpinBox;
    box->setRange(50, kMostPixels);
    box->setSuffix(QChar(0x2009) + QStringLiteral("px"));
    box->setAccessibleName(name);
    box->setKeyboardTracking(false);
    box->setButtonSymbols(QAbstractSpinBox::NoButtons); // arrow keys and the wheel do
    return box;
}

} // namespace

ExportDialog::ExportDialog(std::vector<Exportable> all, const QString& title, QStringList names,
                           QWidget* parent)
    : QDialog(parent), title_(title), names_(std::move(names)), all_(std::move(all)),
      what_(new ComboBox(tr("What to export"))),
      format_(new SegmentedControl(
          {QStringLiteral("PDF"), QStringLiteral("SVG"), QStringLiteral("PNG"), QStringLiteral("CSV")})),
      width_(makePixels(tr("Width"))), height_(makePixels(tr("Height"))), scale_(new QDoubleSpinBox),
      paper_(new QCheckBox(tr("white background, for paper"))), preview_(new QLabel), holds_(new QLabel),
      problem_(new QLabel)
{
    setWindowTitle(tr("Export"));
    for (const Exportable& one : all_)
        what_->addItem(one.name);
    scale_->setRange(0.5, 8);
    scale_->setSingleStep(0.5);
    scale_->setValue(2);
    scale_->setPrefix(QStringLiteral("× "));
    scale_->setAccessibleName(tr("Scale"));
    scale_->setButtonSymbols(QAbstractSpinBox::NoButtons);
    paper_->setChecked(true);
    holds_->setObjectName(QStringLiteral("holds"));
    holds_->setProperty("kind", "dim");
    holds_->setWordWrap(true);
    holds_->hide();
    problem_->setProperty("kind", "error");
    problem_->setWordWrap(true);
    problem_->hide();
    preview_->setFixedSize(sizes().of(420), sizes().of(270));
    preview_->setAlignment(Qt::AlignCenter);
    preview_->setObjectName(QStringLiteral("preview"));
    auto* form = new QFormLayout;
    form->setHorizontalSpacing(sizes().margin);
    form->addRow(tr("What"), what_);
    form->addRow(tr("As"), format_);
    auto* size = new QHBoxLayout;
    size->addWidget(width_);
    size->addWidget(new QLabel(QStringLiteral("×")));
    size->addWidget(height_);
    size->addStretch(1);
    form->addRow(tr("Size"), size);
    form->addRow(tr("Scale"), scale_);
    form->addRow(QString(), paper_);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Save | QDialogButtonBox::Cancel);
    QPushButton* copyButton = buttons->addButton(tr("Copy"), QDialogButtonBox::ActionRole);
    buttons->button(QDialogButtonBox::Save)->setText(tr("Save as…"));
    auto* layout = newLayout<QVBoxLayout>(this, sizes().margin, sizes().padding);
    layout->addWidget(preview_, 0, Qt::AlignCenter);
    layout->addLayout(form);
    layout->addWidget(holds_);
    layout->addWidget(problem_);
    layout->addWidget(buttons);
    connect(what_, &QComboBox::currentIndexChanged, this, &ExportDialog::choose);
    connect(format_, &SegmentedControl::changed, this, &ExportDialog::chooseFormat);
    connect(paper_, &QCheckBox::toggled, this, &ExportDialog::preview);
    for (QSpinBox* box : {width_, height_})
        connect(box, &QSpinBox::valueChanged, this, &ExportDialog::preview);
    connect(buttons, &QDialogButtonBox::accepted, this, &ExportDialog::save);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(copyButton, &QPushButton::clicked, this, &ExportDialog::copy);
    choose();
}

const Exportable& ExportDialog::chosen() const
{
    return all_[std::size_t(std::max(0, what_->currentIndex()))];
}

ExportOptions ExportDialog::options() const
{
    return {ExportFormat(format_->current()), QSize(width_->value(), height_->value()), scale_->value(),
            title_};
}

// Figures for paper are drawn in the light theme. Plots take their colours from the theme, so it is changed
// while they draw.
template <class Does> void ExportDialog::inPaperColours(const Does& does)
{
    Theme& theme = Theme::instance();
    const ThemeChoice before = theme.choice();
    const bool change = paper_->isChecked() && theme.palette().dark;
    if (change)
        theme.apply(ThemeChoice::Light);
    does();
    if (change)
        theme.apply(before);
}

void ExportDialog::choose()
{
    const QSize size = chosen().size;
    {
        const QSignalBlocker quiet[] = {QSignalBlocker(width_), QSignalBlocker(height_)};
        width_->setValue(size.width());
        height_->setValue(size.height());
    }
    chooseFormat();
}

void ExportDialog::chooseFormat()
{
    const bool csv = options().format == ExportFormat::Csv;
    const bool tableless = csv && !chosen().hasTable();
    problem_->setText(tr("This view has no table; choose one of the page's tables, or PDF, SVG or PNG."));
    problem_->setVisible(tableless);
    holds_->setVisible(csv && chosen().hasTable());
    if (holds_->isVisibleTo(this))
        holds_->setText(tr("As CSV: %1").arg(csvOf(chosen()).holds));
    width_->setEnabled(!csv);
    height_->setEnabled(!csv);
    scale_->setEnabled(options().format == ExportFormat::Png);
    paper_->setEnabled(!csv);
    preview();
}

void ExportDialog::preview()
{
    inPaperColours([this] {
        preview_->setPixmap(
            QPixmap::fromImage(previewOf(chosen(), options().size, preview_->size(), devicePixelRatio())));
    });
}

QString ExportDialog::fileName() const
{
    QStringList parts = names_;
    if (what_->currentIndex() > 0)
        parts << chosen().name;
    return fileNameOf(parts) + QLatin1Char('.') + suffixOf(options().format);
}

void ExportDialog::save()
{
    const QString suffix = suffixOf(options().format);
    const QString folder = QSettings().value(QLatin1String(kFolderKey), QDir::currentPath()).toString();
    QString file =
        fileToSave(this, tr("Export"), QDir(folder).filePath(fileName()), QStringLiteral("*.%1").arg(suffix));
    if (file.isEmpty())
        return;
    if (QFileInfo(file).suffix().isEmpty())
        file += QLatin1Char('.') + suffix;
    QSettings().setValue(QLatin1String(kFolderKey), QFileInfo(file).path());
    try {
        inPaperColours([&] { writeExport(chosen(), options(), file); });
        written_ = file;
        accept();
    } catch (const Error& error) {
        problem_->setText(QString::fromStdString(error.sentence()));
        problem_->show();
    }
}

void ExportDialog::copy()
{
    if (options().format == ExportFormat::Csv && chosen().hasTable())
        QApplication::clipboard()->setText(QString::fromUtf8(csvOf(chosen()).text));
    else
        inPaperColours([this] {
            QApplication::clipboard()->setImage(imageOf(chosen(), options().size, options().scale));
        });
}

void ExportDialog::paintEvent(QPaintEvent* event)
{
    QDialog::paintEvent(event);
    QPainter painter(this);
    painter.setPen(colours().line);
    painter.drawRect(preview_->geometry().adjusted(-1, -1, 0, 0));
}

} // namespace tilescope::ui
