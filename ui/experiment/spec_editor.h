#pragma once

#include "ui/experiment/forecast.h"
#include "ui/experiment/point_grid.h"
#include "ui/experiment/spec_check.h"
#include "ui/jobs/job_tracker.h"

#include <QTimer>
#include <QWidget>

#include <memory>
#include <optional>

class QLabel;
class QPushButton;
class QSplitter;

namespace tilescope::ui {

class Panel;
class SentenceLabel;
class SpecFormView;
class YamlEditor;

/// A spec as form and as text, kept in step. The text is what runs; the form shows and edits it. If the text
/// cannot be read, the form keeps its state and is locked until the text is fixed or undone.
class SpecEditor : public QWidget {
    Q_OBJECT
public:
    /// The result of checking the current text.
    struct Judged {
        SpecVerdict verdict;
        std::shared_ptr<const SweepPlan> plan; ///< its points, none of which has run; null without points
        std::optional<SweepForecast> forecast;
        QString forecastProblem; ///< why there is none, if that was an error
    };

    explicit SpecEditor(QWidget* parent = nullptr);

    QString text() const;
    QWidget* textField() const;
    /// Replaces the text; can be undone.
    /// \param origin  replaces the file name in messages
    void setText(const QString& text, const QString& origin);
    void setOrigin(const QString& origin);
    bool isModified() const;
    void setModified(bool modified);
    /// Writes one key into the text, as its field would.
    void setKey(std::string_view key, const QStringList& values);

    /// The result of the check; null while it runs.
    const Judged* judged() const { return current_ ? &judged_ : nullptr; }
    /// The name that the runs get: the spec's own or that of its file.
    QString name() const;
    void setForecaster(std::shared_ptr<const Forecaster> forecaster);
    /// Shows a message that does not concern the text, until the text changes.
    void say(const QString& sentence, const char* kind);

signals:
    /// The text has changed; judged() is null until it is checked.
    void textChanged();
    /// judged() describes the current text.
    void checked();

private:
    void makeForm(QSplitter& splitter);
    void makeYaml(QSplitter& splitter);
    void yamlChanged();
    void check();
    void take(Judged judged);
    void edit(const config::KeyInfo& key, const QStringList& values);
    bool catchUp();
    void showForm();
    void showVerdict();
    void setLocked(const QString& why);
    void sayDropped(const QStringList& keys, const QString& before);
    void lightLineOf(const config::KeyInfo& key);
    void restore();

    JobTracker checks_;
    QTimer checkSoon_;
    std::shared_ptr<const Forecaster> forecaster_;
    Judged judged_;
    SpecForm form_;    ///< the last that could be read
    QString lastText_; ///< as yamlChanged() saw it last
    QString formText_; ///< the text that it was read from
    QString dropped_;  ///< which keys went with the workload; until the text changes
    QString whole_;    ///< the text with them
    QString origin_ = QStringLiteral("spec");
    bool current_ = false; ///< judged_ describes the current text
    bool formCurrent_ = true;

    Panel* formPanel_ = nullptr;
    Panel* yamlPanel_ = nullptr;
    SpecFormView* view_ = nullptr;
    YamlEditor* yaml_ = nullptr;
    QLabel* product_ = nullptr;
    QLabel* valid_ = nullptr;
    QLabel* locked_ = nullptr;
    QPushButton* restore_ = nullptr;
    QWidget* lockBar_ = nullptr;
    SentenceLabel* verdict_ = nullptr;
};

} // namespace tilescope::ui
