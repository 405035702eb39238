#pragma once

#include <QString>
#include <QWidget>

#include <vector>

namespace tilescope::ui {

/// A recording that is installed with Tilescope.
struct ExampleRecording {
    QString file;  ///< its name in resources/recordings
    QString title; ///< a few words
    QString shows; ///< one sentence on what to look at
    /// Of two attentions whose timelines are shown one above the other; empty: the file opens as any other.
    QString comparedLength = {};
};

/// The example recordings. Each was made with the command in resources/recordings/README.md.
const std::vector<ExampleRecording>& exampleRecordings();

/// Copies an example into the cache folder, so that its runs can be tagged and deleted, unless a copy of this version of Tilescope is there.
/// \return  the path of the copy
/// \throws Error (Environment)  the example is not installed, or it cannot be copied
QString copyOfExample(const QString& file);

/// Links to the example recordings, each with a sentence. GUI thread.
class ExampleList : public QWidget {
    Q_OBJECT
public:
    explicit ExampleList(QWidget* parent = nullptr);

signals:
    void wanted(const ExampleRecording& example);
};

} // namespace tilescope::ui
