#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QPointer>
#include <QString>
#include <QWidget>

#include <functional>
#include <memory>
#include <vector>

class QHeaderView;
class QLineEdit;

namespace tilescope::ui {

/// What the user has changed in the window and can undo: zooms, selections, filters, sorting, the runs shown and
/// deletions. Views add what they have done; undoing shows the view first. One for each window. GUI thread.
class ViewHistory : public QObject {
    Q_OBJECT
public:
    /// A change that was made.
    struct Change {
        QString name; ///< in the menu behind Undo: `zoom`, `deleting 2 runs of lm.tscope`
        std::function<void()> undo;
        std::function<void()> redo;
        QPointer<QWidget> where = {}; ///< of a view: where it is seen. The change goes with the view.
        std::shared_ptr<const void> of =
            {};              ///< what the view shows; the change goes when nothing else holds it
        QString series = {}; ///< changes of one series that follow each other at once are one step
    };

    explicit ViewHistory(QObject* parent = nullptr) : QObject(parent) {}

    /// The history of the window that a view is in; null if it is in none.
    static ViewHistory* of(const QWidget& view);
    /// Adds a change of a view to the history of its window, if it is in one.
    static void note(QWidget& view, Change change);

    /// Adds a change. Does nothing while a change is undone or made again.
    void add(Change change);
    void undo();
    void redo();
    /// `zoom`; empty if there is nothing to undo.
    QString undoName() const;
    QString redoName() const;

signals:
    void changed();
    /// A change of this view is about to be undone or made again.
    void concerns(QWidget* view);

private:
    struct Step {
        Change change;
        bool isOfView = false;
        std::weak_ptr<const void> of = {}; ///< in place of the change's
        bool isOfThing = false;

        bool isGone() const { return (isOfView && change.where.isNull()) || (isOfThing && of.expired()); }
    };
    void move(std::vector<Step>& from, std::vector<Step>& to, std::function<void()> Change::*does);
    static QString nameOf(const std::vector<Step>& steps);

    std::vector<Step> past_;
    std::vector<Step> future_;
    QElapsedTimer sinceLast_;
    bool isMoving_ = false;
};

/// Adds the words of a filter to the history of its window, as they change. A filter that has the focus undoes its own
/// changes first.
void noteFilter(QLineEdit& field);

/// Adds what the user sorts a view by to the history of its window.
void noteSorting(QWidget& view, QHeaderView& header);

} // namespace tilescope::ui
