// The experiment page edits specs as form and as text, and runs, saves, copies and exports them.

#include "core/base/paths.h"
#include "tests/ui/experiment_window.h"

#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QTimer>

namespace tilescope::ui {
namespace {

TEST_F(ExperimentWindow, SaysWhatIsWrongWithASpecAndWhere)
{
    type(QStringLiteral("workload: lm\nbacth: 3"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return verdict().find("bacth") != std::string::npos; }, kTimeoutMs));
    EXPECT_THAT(verdict(), HasSubstr("spec:2:1"));
    EXPECT_THAT(verdict(), HasSubstr("batch"));
    ASSERT_EQ(editor->extraSelections().size(), 1);
    EXPECT_EQ(editor->extraSelections()[0].cursor.blockNumber(), 1);
    EXPECT_FALSE(runButton->isEnabled());

    QTest::keyClick(editor, Qt::Key_Z,
                    Qt::ControlModifier); // the sentence disappears with the mistake
    editor->selectAll();
    type(QString());
    QTest::keyClick(editor, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClick(editor, Qt::Key_Delete);
    type(QStringLiteral("workload: lm\nbatch: 3"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    EXPECT_EQ(text("plan"), "1 point");
    EXPECT_EQ(verdict(), "");
    EXPECT_TRUE(editor->extraSelections().isEmpty());
}

TEST_F(ExperimentWindow, OpensASpecFile)
{
    const std::filesystem::path spec = folder / "two.yaml";
    std::ofstream(spec) << "workload: attention\nseq_len: 64\nsweep: {batch: [1, 2]}\n";
    window->open({QString::fromStdString(spec.string())});
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    EXPECT_EQ(text("plan"), "2 points");
    EXPECT_EQ(statuses(), QStringList({"waiting", "waiting"}));
    EXPECT_TRUE(window->workspace().files().empty());
    window->open({QString::fromStdString((folder / "none.yaml").string())});
    EXPECT_THAT(verdict(), HasSubstr("none.yaml"));
}

TEST_F(ExperimentWindow, CopiesTheCommandThatRunsASavedSpec)
{
    const std::filesystem::path spec = folder / "it's two.yaml";
    std::ofstream(spec) << "workload: attention\nseq_len: 64\nsweep: {batch: [1, 2]}\n";
    window->open({QString::fromStdString(spec.string())});
    auto* line = page->findChild<QPushButton*>(QStringLiteral("batch"));
    QApplication::clipboard()->clear();
    QTest::mouseClick(line, Qt::LeftButton);
    EXPECT_EQ(QApplication::clipboard()->text().toStdString(), "tilescope --batch '" +
                                                                   (folder / "it'\\''s two.yaml").string() +
                                                                   "' -o " + output.toStdString());
    EXPECT_EQ(page->command(), QApplication::clipboard()->text())
        << "Edit > Copy page as command copies the same";
    QApplication::clipboard()->clear();
    type(QStringLiteral("# changed"));
    QTest::mouseClick(line, Qt::LeftButton);
    const std::string copied = QApplication::clipboard()->text().toStdString();
    EXPECT_TRUE(copied.starts_with("tilescope --batch - -o " + output.toStdString() + " <<'END_OF_SPEC'\n"))
        << "the file is not what the editor shows: " << copied;
    EXPECT_TRUE(copied.ends_with("\nEND_OF_SPEC\n")) << copied;
    EXPECT_THAT(copied, HasSubstr("# changed"));
    EXPECT_THAT(copied, HasSubstr("seq_len: 64"));
    EXPECT_EQ(page->command().toStdString(), copied);
    EXPECT_THAT(verdict(), HasSubstr("Copied"));
}

TEST_F(ExperimentWindow, FormAndTextFollowEachOther)
{
    replace(QStringLiteral("# mine\nworkload: attention\nbatch: 8\n"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    auto* view = page->findChild<SpecFormView*>();
    KeyField* batch = view->field("batch");
    KeyField* seqLen = view->field("seq_len");
    KeyField* backend = view->field("backend");
    ASSERT_TRUE(batch->isVisible());
    EXPECT_EQ(batch->values(), QStringList("8"));

    QTest::mouseClick(batch->field(), Qt::LeftButton);
    EXPECT_EQ(litLine(), 3);
    qobject_cast<QLineEdit*>(batch->field())->selectAll();
    QTest::keyClicks(batch->field(), QStringLiteral("16"));
    EXPECT_EQ(yaml(), "# mine\nworkload: attention\nbatch: 16\n");

    QTest::mouseClick(seqLen->field(), Qt::LeftButton);
    QTest::keyClicks(seqLen->field(), QStringLiteral("64,128 256"));
    QTest::keyClick(seqLen->field(), Qt::Key_Return);
    EXPECT_EQ(yaml(), "# mine\nworkload: attention\nbatch: 16\nsweep:\n  seq_len: [64, 128, 256]\n");
    for (QAbstractButton* box : backend->findChildren<QAbstractButton*>())
        if (box->text() == "naive" || box->text() == "flash-torch")
            QTest::mouseClick(box, Qt::LeftButton, {}, QPoint(8, box->height() / 2));
    EXPECT_EQ(yaml(), "# mine\nworkload: attention\nbatch: 16\nsweep:\n  backend: [naive, flash-torch]\n"
                      "  seq_len: [64, 128, 256]\n");
    ASSERT_TRUE(QTest::qWaitFor([this] { return text("plan") == "6 points"; }, kTimeoutMs));
    EXPECT_EQ(text("product"), "2 × 3 = 6 points");

    QTest::keyClick(seqLen->field(), Qt::Key_Backspace);
    QTest::keyClick(seqLen->field(), Qt::Key_Delete);
    QTest::keyClick(seqLen->field(), Qt::Key_Return);
    EXPECT_THAT(yaml(), HasSubstr("seq_len: [64, 128]\n"));

    // The text leads, too.
    replace(QStringLiteral("workload: attention\nbatch: 4\nsweep: {d_head: [32, 64]}\n"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return batch->values() == QStringList("4"); }, kTimeoutMs));
    EXPECT_EQ(view->field("d_head")->values(), QStringList({"32", "64"}));
    EXPECT_TRUE(seqLen->values().isEmpty());
}

TEST_F(ExperimentWindow, MarksTheFieldThatIsWrong)
{
    replace(QStringLiteral("workload: attention\nbatch: 8\n"));
    auto* view = page->findChild<SpecFormView*>();
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    KeyField* heads = view->field("heads");
    QTest::mouseClick(heads->field(), Qt::LeftButton);
    QTest::keyClicks(heads->field(), QStringLiteral("many"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !heads->problem().isEmpty(); }, kTimeoutMs));
    EXPECT_THAT(heads->problem().toStdString(), HasSubstr("takes an integer, not 'many'"));
    EXPECT_TRUE(view->field("batch")->problem().isEmpty());
    EXPECT_FALSE(runButton->isEnabled());
    EXPECT_THAT(text("valid"), HasSubstr("not valid"));
}

TEST_F(ExperimentWindow, AnotherWorkloadDropsTheKeysThatItLacks)
{
    const QString before =
        QStringLiteral("workload: attention\nbatch: 8\nheads: 2\nsweep: {seq_len: [64, 128]}\n");
    replace(before);
    auto* view = page->findChild<SpecFormView*>();
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    for (QAbstractButton* box : view->field("workload")->findChildren<QAbstractButton*>())
        if (box->text() == "lm")
            QTest::mouseClick(box, Qt::LeftButton, {}, QPoint(8, box->height() / 2));
    EXPECT_THAT(yaml(), HasSubstr("workload: lm\nbatch: 8\n"));
    EXPECT_THAT(yaml(), Not(HasSubstr("seq_len")));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    EXPECT_TRUE(button("restore")->isVisible());
    EXPECT_THAT(text("locked"), HasSubstr("seq_len"));
    EXPECT_TRUE(view->isEnabled());
    QTest::mouseClick(button("restore"), Qt::LeftButton);
    EXPECT_EQ(yaml(), before.toStdString());
    ASSERT_TRUE(QTest::qWaitFor([this] { return !button("restore")->isVisible(); }, kTimeoutMs));
}

TEST_F(ExperimentWindow, ABrokenTextLeavesTheFormAsItWas)
{
    replace(QStringLiteral("workload: attention\nbatch: 8\n"));
    auto* view = page->findChild<SpecFormView*>();
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    type(QStringLiteral("sweep: [seq_len"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !view->isEnabled(); }, kTimeoutMs));
    EXPECT_EQ(view->field("batch")->values(), QStringList("8"));
    EXPECT_THAT(verdict(), HasSubstr("spec:"));
    EXPECT_THAT(text("locked"), HasSubstr("cannot be read"));
    EXPECT_FALSE(runButton->isEnabled());
    QTest::mouseClick(button("restore"), Qt::LeftButton);
    ASSERT_TRUE(QTest::qWaitFor([&] { return view->isEnabled(); }, kTimeoutMs));
    EXPECT_EQ(yaml(), "workload: attention\nbatch: 8\n");
}

TEST_F(ExperimentWindow, EveryFieldOfTheFormWritesItsKey)
{
    auto* view = page->findChild<SpecFormView*>();
    for (const config::KeyInfo& key : config::keys()) {
        SCOPED_TRACE(key.name);
        const bool isOfCollective = key.collective && !key.lm;
        replace(isOfCollective ? QStringLiteral("workload: collective\n")
                : key.lm       ? QStringLiteral("workload: lm\n")
                               : QStringLiteral("workload: attention\n"));
        ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
        KeyField* field = view->field(key.name);
        ASSERT_NE(field, nullptr);
        EXPECT_FALSE(field->isHidden());
        EXPECT_FALSE(field->field()->accessibleName().isEmpty());
        EXPECT_FALSE(field->field()->accessibleDescription().isEmpty());
        const config::SpecDocument example =
            config::parseDocument("x: " + std::string(key.example), "example");
        const QString value = textOfValue(example.fixed[0].value);
        if (auto* edit = qobject_cast<QLineEdit*>(field->field())) {
            edit->setFocus();
            QTest::keyClicks(edit, value);
            if (edit->completer() != nullptr)
                edit->completer()->popup()->hide();
        } else if (key.type == config::ValueType::Boolean) {
            qobject_cast<QAbstractButton*>(field->field())->click(); // the example is not the default
        } else {
            for (QAbstractButton* box : field->findChildren<QAbstractButton*>())
                if (box->text() == value)
                    box->click();
        }
        const SpecForm form = SpecForm::fromYaml(yaml(), "s.yaml");
        EXPECT_EQ(form.values(key), QStringList(value)) << yaml();
    }
}

TEST_F(ExperimentWindow, ASwitchWritesWhatDiffersFromTheDefault)
{
    const QString bare = QStringLiteral("workload: attention\n");
    replace(bare);
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    KeyField* causal = page->findChild<SpecFormView*>()->field("causal");
    auto* box = qobject_cast<QAbstractButton*>(causal->field());
    ASSERT_TRUE(box->isVisible());
    EXPECT_TRUE(box->isChecked()) << "the default";
    QTest::mouseClick(box, Qt::LeftButton, {}, QPoint(8, box->height() / 2));
    EXPECT_EQ(yaml(), "workload: attention\ncausal: false\n");
    QTest::mouseClick(box, Qt::LeftButton, {}, QPoint(8, box->height() / 2));
    EXPECT_EQ(yaml(), bare.toStdString());
    auto* both = causal->findChild<QPushButton*>();
    QTest::mouseClick(both, Qt::LeftButton);
    EXPECT_EQ(yaml(), "workload: attention\nsweep:\n  causal: [true, false]\n");
    QTest::mouseClick(both, Qt::LeftButton);
    EXPECT_EQ(yaml(), bare.toStdString());
}

TEST_F(ExperimentWindow, RareFieldsAreFoldedUntilTheyAreWritten)
{
    replace(QStringLiteral("workload: lm\n"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    auto* view = page->findChild<SpecFormView*>();
    EXPECT_TRUE(view->field("size")->isVisible());
    EXPECT_FALSE(view->field("seed")->isVisible());
    replace(QStringLiteral("workload: lm\nseed: 7\n"));
    EXPECT_TRUE(QTest::qWaitFor([&] { return view->field("seed")->isVisible(); }, kTimeoutMs));
    EXPECT_FALSE(view->field("d_model")->isVisible());
    QTest::mouseClick(view->findChild<QPushButton*>(QStringLiteral("Language model")), Qt::LeftButton);
    EXPECT_TRUE(view->field("d_model")->isVisible());
}

TEST_F(ExperimentWindow, SavesAJobScriptThatCarriesTheSpec)
{
    replace(QStringLiteral("name: grid\nworkload: attention\nsweep: {batch: [1, 2]}\n"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    const QString path = QString::fromStdString((folder / "grid.sbatch").string());
    ASSERT_TRUE(page->writeSlurmScript(path, 2));
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    const std::string script = file.readAll().toStdString();
    EXPECT_THAT(script, HasSubstr("\n#SBATCH --array=0-1\n"));
    EXPECT_THAT(script, HasSubstr("\nname: grid\nworkload: attention\nsweep: {batch: [1, 2]}\n"));
    EXPECT_THAT(verdict(), HasSubstr("grid.sbatch"));
    EXPECT_FALSE(page->writeSlurmScript(QStringLiteral("/no/such/folder/x"), 2));
    EXPECT_THAT(verdict(), HasSubstr("/no/such/folder"));
}

class FakeForecaster : public Forecaster {
public:
    std::optional<SweepForecast> forecast(const std::vector<session::SweepPoint>& points,
                                          const std::function<bool()>&) const override
    {
        SweepForecast forecast;
        forecast.device = QStringLiteral("fake device");
        for (const session::SweepPoint& point : points)
            forecast.points.push_back({1.0, point.spec.batch << 30, point.spec.batch > 2});
        return forecast;
    }
};

TEST_F(ExperimentWindow, ShowsThePrediction)
{
    const QString spec =
        QStringLiteral("workload: attention\nmemory_limit: 2 GiB\nsweep: {batch: [1, 2, 4]}\n");
    replace(spec);
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    EXPECT_THAT(text("forecast"), HasSubstr("memory_limit 2"));
    page->setForecaster(std::make_shared<FakeForecaster>());
    ASSERT_TRUE(QTest::qWaitFor(
        [this] { return text("forecast").find("on this fake device") != std::string::npos; }, kTimeoutMs));
    EXPECT_THAT(text("forecast"), HasSubstr("about 3.0 s"));
    EXPECT_THAT(text("expectedOom"), HasSubstr("1 expected OOM"));
    EXPECT_EQ(statuses(), QStringList({"waiting", "waiting", "expected OOM"}));
}

TEST_F(ExperimentWindow, PredictsTheMemoryOfEachPointBeforeItRuns)
{
    replace(QStringLiteral("workload: attention\ndevice: cpu\nmemory_limit: 64 MiB\nbatch: 1\n"
                           "sweep: {seq_len: [256, 4096]}\n"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    EXPECT_THAT(text("forecast"), HasSubstr("predicted peak"));
    EXPECT_EQ(statuses(), QStringList({"waiting", "expected OOM"}));
    EXPECT_THAT(text("expectedOom"), HasSubstr("1 expected OOM"));
    // Live: the text is read again a moment after it changed.
    replace(QStringLiteral("workload: attention\ndevice: cpu\nmemory_limit: 8 GiB\nbatch: 1\n"
                           "sweep: {seq_len: [256, 4096]}\n"));
    ASSERT_TRUE(QTest::qWaitFor(
        [this] {
            return statuses() == QStringList({"waiting", "waiting"});
        },
        kTimeoutMs));
}

TEST_F(ExperimentWindow, StartsFromPresetsAndExamples)
{
    const auto choose = [this](const char* menuButton, const char* word) {
        for (QAction* action : button(menuButton)->menu()->actions())
            if (action->text().startsWith(QLatin1String(word)))
                return action->trigger();
        FAIL() << word;
    };
    choose("presets", "medium");
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    EXPECT_EQ(yaml(), "workload: lm\nmode: train\nsize: medium\n");
    choose("presets", "tiny");
    EXPECT_EQ(yaml(), "workload: lm\nmode: train\nsize: tiny\n");
    choose("studies", "flash"); // which opens its parts
    for (QAction* action : button("studies")->menu()->actions()) {
        if (action->text() != "flash")
            continue;
        emit action->menu()->aboutToShow();
        for (QAction* part : action->menu()->actions())
            if (part->text().startsWith("flash-torch") && !part->text().startsWith("flash-torch-long"))
                part->trigger();
    }
    ASSERT_TRUE(QTest::qWaitFor([this] { return text("plan") == "56 points"; }, kTimeoutMs)) << verdict();
    EXPECT_THAT(yaml(), HasSubstr("name: \"flash: flash-torch\"\n"));
    choose("studies", "demo-attention");
    ASSERT_TRUE(QTest::qWaitFor([this] { return text("plan") == "8 points"; }, kTimeoutMs)) << verdict();
}

TEST_F(ExperimentWindow, AnExampleIsNeverOfferedForOverwriting)
{
    for (QAction* action : button("studies")->menu()->actions())
        if (action->text() == "demo-attention")
            action->trigger();
    ASSERT_TRUE(QTest::qWaitFor([this] { return text("plan") == "8 points"; }, kTimeoutMs)) << verdict();
    replace(QStringLiteral("workload: attention\nseq_len: 64\ndevice: cpu\n"));
    // The dialog that saving opens: where it starts, and what becomes of a name in the program's own folder.
    const QString examples =
        QString::fromStdString((resourcesDirectory() / "examples" / "demo-attention.yaml").string());
    ASSERT_TRUE(QFile::exists(examples));
    QFile before(examples);
    ASSERT_TRUE(before.open(QIODevice::ReadOnly));
    const QByteArray content = before.readAll();
    QString offered;
    QTimer::singleShot(0, page, [&] {
        auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
        ASSERT_NE(dialog, nullptr);
        offered = dialog->selectedFiles().value(0);
        dialog->reject();
    });
    QTest::mouseClick(button("saveSpec"), Qt::LeftButton);
    EXPECT_THAT(offered.toStdString(), HasSubstr("demo-attention.yaml"));
    EXPECT_FALSE(offered.startsWith(QFileInfo(examples).absolutePath())) << offered.toStdString();
    QTimer::singleShot(0, page, [&] {
        auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
        ASSERT_NE(dialog, nullptr);
        dialog->setOption(QFileDialog::DontConfirmOverwrite);
        dialog->selectFile(examples);
        QMetaObject::invokeMethod(dialog, "accept");
    });
    QTest::mouseClick(button("saveSpec"), Qt::LeftButton);
    EXPECT_THAT(verdict(), HasSubstr("is part of the program"));
    QFile after(examples);
    ASSERT_TRUE(after.open(QIODevice::ReadOnly));
    EXPECT_EQ(after.readAll(), content);
}

TEST_F(ExperimentWindow, AnEmptyTextHasNoErrors)
{
    auto* view = page->findChild<SpecFormView*>();
    ASSERT_TRUE(QTest::qWaitFor([this] { return text("forecast") == "choose a workload first"; }, kTimeoutMs))
        << text("forecast");
    EXPECT_TRUE(view->field("workload")->problem().isEmpty())
        << view->field("workload")->problem().toStdString();
    type(QStringLiteral("batch: 2"));
    EXPECT_TRUE(QTest::qWaitFor([&] { return !view->field("workload")->problem().isEmpty(); }, kTimeoutMs));
}

TEST_F(ExperimentWindow, RemembersTheDraft)
{
    replace(QStringLiteral("workload: attention\nbatch: 2\n"));
    window->close();
    window = std::make_unique<MainWindow>();
    window->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(window.get(), kTimeoutMs));
    EXPECT_EQ(window->currentPageName(), "overview") << "which says how to begin";
    ASSERT_TRUE(window->showPage(QStringLiteral("experiment")));
    waitUntilSettled();
    EXPECT_EQ(window->findChild<QPlainTextEdit*>(QStringLiteral("spec"))->toPlainText(),
              "workload: attention\nbatch: 2\n");
}

TEST_F(ExperimentWindow, KeysAloneConfigureAndRun)
{
    auto* view = page->findChild<SpecFormView*>();
    ASSERT_TRUE(QTest::qWaitFor([&] { return view->field("workload")->isVisible(); }, kTimeoutMs));
    view->field("workload")->field()->setFocus();
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Space);
    EXPECT_EQ(yaml(), "workload: attention\n");
    std::string passed;
    const auto tabTo = [&](std::string_view key) {
        for (int i = 0; i < 200; ++i) {
            if (QApplication::focusWidget() == view->field(key)->field())
                return true;
            passed += QApplication::focusWidget()->accessibleName().toStdString() + "|";
            QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        }
        return false;
    };
    ASSERT_TRUE(tabTo("device")) << passed;
    QTest::keyClicks(QApplication::focusWidget(), QStringLiteral("cpu"));
    qobject_cast<QLineEdit*>(QApplication::focusWidget())->completer()->popup()->hide(); // as Tab would
    ASSERT_TRUE(tabTo("seq_len")) << passed;
    QTest::keyClicks(QApplication::focusWidget(), QStringLiteral("64,128,"));
    ASSERT_TRUE(tabTo("steps")) << passed;
    QTest::keyClicks(QApplication::focusWidget(), QStringLiteral("3"));
    EXPECT_EQ(yaml(), "workload: attention\ndevice: cpu\nsteps: 3\nsweep:\n  seq_len: [64, 128]\n");
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    runButton->setFocus();
    QTest::keyClick(runButton, Qt::Key_Space);
    ASSERT_TRUE(page->isRunning());
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(statuses(), QStringList({"ok", "ok"}));
}

TEST_F(ExperimentWindow, SavesPictures)
{
    if (qEnvironmentVariableIsEmpty("TILESCOPE_TEST_PICTURES"))
        GTEST_SKIP() << "TILESCOPE_TEST_PICTURES names no folder";
    picture("empty");
    replace(QStringLiteral(
        "name: attention-grid\nworkload: attention\ndevice: cpu\nfixed:\n  seed: 1\n  batch: 8\n  heads: 1\n"
        "  causal: true\n  mode: both\n  warmup: 5\n  steps: 60\n  trace: kernels\n  memory_limit: 12 GiB\n"
        "sweep:\n  backend: [naive, flash-torch, sdpa]\n  precision: [fp32, bf16]\n  d_head: [16, 32, 64, "
        "128]\n"
        "  seq_len: [256, 1024, 4096, 8192, 16384]\n"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    picture("ready");
    picture("ready", {1366, 768});
    setenv("FAKE_SCRIPT", "slow", 1);
    QTest::mouseClick(runButton, Qt::LeftButton);
    QTest::mouseClick(button("enqueue"), Qt::LeftButton);
    ASSERT_TRUE(QTest::qWaitFor([this] { return progress() > 30; }, kTimeoutMs));
    page->findChild<SpecFormView*>()->field("seq_len")->field()->setFocus();
    picture("running");
    picture("running", {1366, 768});
    page->stopAll();
    ASSERT_TRUE(waitForEnd());
    type(QStringLiteral("sweep: ["));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !page->findChild<SpecFormView*>()->isEnabled(); }, kTimeoutMs));
    picture("broken", {1366, 768});
    replace(QStringLiteral("workload: lm\nbatch: many\nheads: 5\n"));
    ASSERT_TRUE(
        QTest::qWaitFor([this] { return text("valid").find("not") != std::string::npos; }, kTimeoutMs));
    picture("wrong", {1366, 768});
}

} // namespace
} // namespace tilescope::ui
