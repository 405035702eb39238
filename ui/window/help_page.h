#pragma once

#include "ui/kit/page.h"

#include <functional>
#include <vector>

class QLineEdit;
class QListWidget;
class QTextBrowser;

namespace tilescope::ui {

/// A page of resources/help.
struct HelpTopic {
    QString name; ///< of its file, without suffix
    QString title;
    QString text; ///< Markdown
};

/// All help pages, the important ones first.
/// \throws Error  one cannot be read
std::vector<HelpTopic> helpTopics();

/// The pages of resources/help: a list of topics that a search narrows, and the one that is read.
class HelpPage : public Page {
    Q_OBJECT
public:
    /// \param keys  makes the tables of keys, as Markdown, for the topic that has a place for them
    explicit HelpPage(Workspace& workspace, std::function<QString()> keys = {}, QWidget* parent = nullptr);

    bool startFind() override;
    /// Shows a topic by its file name without suffix; the contents if there is none.
    void showTopic(const QString& name);
    QString topic() const { return topic_; }

protected:
    void showRuns(const std::vector<SelectedRun>&) override {} // it is about none
    void resizeEvent(QResizeEvent* event) override;

private:
    void readTopics();
    void fillList();
    void render();
    void dress();
    void fitPictures();

    std::vector<HelpTopic> topics_;
    std::function<QString()> keys_;
    QString problem_; ///< why there are no topics
    QString topic_;
    QLineEdit* find_;
    QListWidget* list_;
    QTextBrowser* browser_;
};

} // namespace tilescope::ui
