#include "ui/window/what_if_dialog.h"

#include "core/exchange/tables/sections.h"
#include "core/query/file_session.h"
#include "core/query/overview/run_overview.h"
#include "core/query/timeline/hue.h"
#include "ui/kit/controls.h"
#include "ui/kit/layouts.h"
#include "ui/kit/number_text.h"
#include "ui/kit/section_table.h"
#include "ui/kit/table_view.h"
#include "ui/kit/view_command.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::ui {

namespace {

constexpr int kPredictAfterMs = 200; // typing goes on
constexpr double kFactor = 0.5;
constexpr double kMostFactor = 100;
constexpr double kFactorStep = 0.1;

bool changesSomething(const query::WhatIfQuery& query)
{
    return !query.scales.empty() || !query.removed.empty() || query.freeLaunches || query.freeCommunication;
}

} // namespace

WhatIfDialog::WhatIfDialog(SelectedRun run, QWidget* parent)
    : QDialog(parent), run_(std::move(run)), work_(new ComboBox(tr("Kind of work"))),
      factor_(new QDoubleSpinBox), removes_(new QCheckBox(tr("The program leaves it out"))),
      launches_(new QCheckBox(tr("The host takes no time to launch"))),
      communication_(new QCheckBox(tr("Transfers between ranks take no time"))), answer_(new SentenceLabel),
      table_(new TableView), notes_(new SentenceLabel), command_(new QLabel),
      copy_(new QPushButton(tr("Copy command")))
{
    run_.span.reset();
    setWindowTitle(tr("What if: %1").arg(run_.title.isEmpty() ? run_.source() : run_.title));
    work_->setEditable(true);
    work_->lineEdit()->setAccessibleName(tr("Kind of work"));
    work_->setToolTip(tr("A family, a path such as **/attention/**, or the name of a kernel or op"));
    factor_->setAccessibleName(tr("Factor of its time"));
    factor_->setRange(0, kMostFactor);
    factor_->setSingleStep(kFactorStep);
    factor_->setDecimals(2);
    factor_->setButtonSymbols(QAbstractSpinBox::NoButtons); // the arrow keys do it
    factor_->setValue(kFactor);
    factor_->setSuffix(tr(" of its time"));
    removes_->setToolTip(tr("Its kernels take no time, and neither does the host's time for them"));
    launches_->setToolTip(tr("As if a CUDA graph replayed the steps"));
    communication_->setToolTip(tr("Ranks still wait for each other to arrive"));
    answer_->setObjectName(QStringLiteral("answer"));
    answer_->setAccessibleName(tr("Prediction"));
    table_->setAccessibleName(tr("Predicted steps"));
    table_->setMinimumHeight(sizes().header + 4 * sizes().row);
    notes_->setProperty("kind", "dim");
    notes_->setAccessibleName(tr("Notes"));
    command_->setWordWrap(true);
    command_->setTextFormat(Qt::PlainText);
    command_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    command_->setFont(Theme::instance().mono());
    command_->setAccessibleName(tr("Command"));
    auto* form = new QFormLayout;
    form->setHorizontalSpacing(sizes().margin);
    auto* scaled = new QHBoxLayout;
    scaled->setSpacing(sizes().gap);
    scaled->addWidget(work_, 1);
    scaled->addWidget(factor_);
    form->addRow(tr("&Work takes"), scaled);
    static_cast<QLabel*>(form->labelForField(scaled))->setBuddy(work_);
    for (QCheckBox* box : {removes_, launches_, communication_})
        form->addRow(QString(), box);
    auto* close = new QPushButton(tr("Close"));
    connect(close, &QPushButton::clicked, this, &QDialog::reject);
    connect(copy_, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(command()); });
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(copy_);
    buttons->addStretch(1);
    buttons->addWidget(close);
    for (QPushButton* button : {copy_, close})
        button->setAutoDefault(false);
    auto* layout = newLayout<QVBoxLayout>(this, sizes().margin, sizes().padding);
    layout->addLayout(form);
    layout->addWidget(answer_);
    layout->addWidget(table_, 1);
    layout->addWidget(notes_);
    layout->addWidget(command_);
    layout->addLayout(buttons);
    resize(sizes().of(720), sizes().of(440));
    soon_.setSingleShot(true);
    soon_.setInterval(kPredictAfterMs);
    connect(&soon_, &QTimer::timeout, this, &WhatIfDialog::predict);
    connect(work_, &QComboBox::editTextChanged, this, &WhatIfDialog::follow);
    connect(factor_, &QDoubleSpinBox::valueChanged, this, &WhatIfDialog::follow);
    for (QCheckBox* box : {removes_, launches_, communication_})
        connect(box, &QCheckBox::toggled, this, &WhatIfDialog::follow);
    readWork();
}

// The kinds that the run has, those that take the most time first.
void WhatIfDialog::readWork()
{
    answer_->setText(tr("Reading the run…"));
    reading_.start(
        [run = run_](const query::Cancelled& cancelled) {
            auto session = run.file->borrow();
            const query::RunOverview overview =
                query::runOverview(session->reader(), run.key.run, cancelled, {}, run.process);
            QStringList words;
            for (const query::FamilyShare& share : overview.families)
                words << QString::fromUtf8(query::hueWord(share.hue));
            return words;
        },
        [this](const QStringList& words) {
            work_->addItems(words);
            follow();
        },
        [this](const QString& sentence) {
            answer_->setText(sentence);
            emit predicted();
        });
}

query::WhatIfQuery WhatIfDialog::asked() const
{
    query::WhatIfQuery query{.run = run_.key.run, .topology = run_.process};
    const std::string key = work_->currentText().trimmed().toStdString();
    if (!key.empty() && removes_->isChecked())
        query.removed = {key};
    else if (!key.empty() && factor_->value() != 1)
        query.scales = {{key, factor_->value()}};
    query.freeLaunches = launches_->isChecked();
    query.freeCommunication = communication_->isChecked();
    return query;
}

QString WhatIfDialog::command() const
{
    const query::WhatIfQuery query = asked();
    if (!changesSomething(query))
        return {};
    ViewCommand line(run_, "what-if");
    for (const query::WorkScale& scale : query.scales)
        line.add("--scale", scale.key + "=" + QString::number(scale.factor).toStdString());
    for (const std::string& key : query.removed)
        line.add("--remove", key);
    if (query.freeLaunches)
        line.add("--free", "launches");
    if (query.freeCommunication)
        line.add("--free", "communication");
    return line.add(run_.process).text();
}

void WhatIfDialog::follow()
{
    factor_->setEnabled(!removes_->isChecked());
    command_->setText(command());
    copy_->setEnabled(!command_->text().isEmpty());
    soon_.start();
}

void WhatIfDialog::predict()
{
    const query::WhatIfQuery query = asked();
    if (!changesSomething(query)) {
        predicting_.cancel();
        answer_->setText(tr("Nothing is changed: choose a kind of work and a factor other than 1."));
        table_->show({});
        notes_->clear();
        emit predicted();
        return;
    }
    answer_->setText(tr("Simulating the steps…"));
    predicting_.start(
        [run = run_, query](const query::Cancelled& cancelled) {
            auto session = run.file->borrow();
            return std::make_shared<const query::WhatIfTable>(
                query::whatIf(session->reader(), query, cancelled));
        },
        [this](const std::shared_ptr<const query::WhatIfTable>& table) { showPrediction(table); },
        [this](const QString& sentence) {
            answer_->setText(sentence);
            table_->show({});
            notes_->clear();
            emit predicted();
        });
}

void WhatIfDialog::showPrediction(const std::shared_ptr<const query::WhatIfTable>& table)
{
    constexpr double kNsPerMs = 1e6;
    const exchange::Table shown = exchange::tableOf(table);
    table_->show(sectionTable(shown));
    notes_->setText(sectionNotes(shown));
    if (table->rows.empty()) {
        answer_->setText(QString::fromStdString(shown.whyEmpty));
    } else {
        // Of several ranks the slowest: the others wait for it.
        const query::WhatIfRow& row = *std::ranges::max_element(
            table->rows, {}, [](const query::WhatIfRow& each) { return each.predictedMs.median; });
        const QString rank =
            row.title.empty() ? QString() : QStringLiteral(" (%1)").arg(QString::fromStdString(row.title));
        answer_->setText(tr("The step would take %1 instead of %2%3: %4 of it.")
                             .arg(timeText(row.predictedMs.median * kNsPerMs),
                                  timeText(row.recordedMs.median * kNsPerMs), rank,
                                  percentText(row.ratio.median)));
    }
    emit predicted();
}

} // namespace tilescope::ui
