#pragma once

#include "ui/experiment/sweep_queue.h"

#include <QObject>
#include <QString>

#include <vector>

namespace tilescope::ui {

/// The queues of all places, which work side by side: this machine, and each host that a sweep was sent to or that was
/// looked at. GUI thread.
class SweepQueues : public QObject {
    Q_OBJECT
public:
    explicit SweepQueues(QObject* parent = nullptr);

    SweepQueue& here() { return *all_.front(); }
    /// Made when it is first asked for.
    /// \param host  empty: this machine
    SweepQueue& of(const QString& host);
    /// That of this machine comes first.
    const std::vector<SweepQueue*>& all() const { return all_; }
    /// Whether a sweep anywhere has a point of this spec and writes this file.
    bool holds(const QString& file, const ExperimentSpec& spec) const;
    /// The sweeps on hosts that earlier programs started and nobody follows.
    static std::vector<SweepJob> startedBefore();

signals:
    void added(tilescope::ui::SweepQueue* queue);
    /// A state, a current sweep or a queue has changed.
    void changed();

private:
    void add(const QString& host);

    std::vector<SweepQueue*> all_;
};

} // namespace tilescope::ui
