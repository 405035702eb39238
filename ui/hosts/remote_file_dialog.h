#pragma once

#include "core/hosts/remote_folder.h"
#include "ui/jobs/job_tracker.h"

#include <QDialog>
#include <QString>

#include <stop_token>

class QLineEdit;
class QPushButton;

namespace tilescope::ui {

class HostBox;
class SentenceLabel;
class TableView;

/// Chooses a file on a host: a browser of its folders. GUI thread.
class RemoteFileDialog : public QDialog {
    Q_OBJECT
public:
    explicit RemoteFileDialog(QWidget* parent = nullptr);
    ~RemoteFileDialog() override;

    /// Reads a folder of a host.
    /// \param path  empty: the home folder
    void browse(const QString& host, const QString& path);
    bool isReading() const { return isReading_; }

signals:
    void chosen(const QString& host, const QString& path);

private:
    void fill(const hosts::RemoteFolder& folder);
    void enter();
    void say(const QString& sentence, const char* kind);
    void follow();
    const hosts::RemoteEntry* current() const;
    QString pathOf(const hosts::RemoteEntry& entry) const;

    JobTracker reading_{this};
    std::stop_source stop_;
    bool isReading_ = false;
    hosts::RemoteFolder folder_;
    HostBox* host_;
    QLineEdit* path_;
    QPushButton* up_;
    TableView* table_;
    SentenceLabel* state_;
    QPushButton* open_;
};

} // namespace tilescope::ui
