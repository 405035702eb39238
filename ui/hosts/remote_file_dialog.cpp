#include "ui/hosts/remote_file_dialog.h"

#include "core/base/terminal_text.h"
#include "core/hosts/host_list.h"
#include "ui/hosts/host_box.h"
#include "ui/kit/controls.h"
#include "ui/kit/label_kind.h"
#include "ui/kit/layouts.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"

#include <QDateTime>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QVBoxLayout>

#include <utility>

namespace tilescope::ui {

namespace {

constexpr const char* kLastHostKey = "openOnHost/host";
constexpr const char* kFolderKey = "openOnHost/folder/%1";

TableColumn fileColumn(const QString& title, TableColumn::Kind kind, double width)
{
    TableColumn made;
    made.title = title;
    made.kind = kind;
    made.width = width;
    return made;
}

TableRow fileRow(const hosts::RemoteEntry& entry)
{
    constexpr std::int64_t kNsPerMs = 1'000'000;
    const QDateTime changed = QDateTime::fromMSecsSinceEpoch(entry.changedUnixNs / kNsPerMs);
    TableRow row;
    row.cells.resize(3);
    row.cells[0].text = QString::fromStdString(escapeForTerminal(entry.name));
    row.cells[1].sort = double(entry.size.count);
    row.cells[2].sort = double(entry.changedUnixNs);
    if (entry.isFolder) {
        row.cells[0].text += QLatin1Char('/');
        row.cells[0].tone = Tone::Strong;
    } else {
        row.cells[1].text =
            entry.isGrowing ? RemoteFileDialog::tr("being recorded") : byteText(double(entry.size.count));
    }
    if (entry.isGrowing)
        row.cells[1].tone = Tone::Link;
    row.cells[2].text =
        entry.changedUnixNs > 0 ? changed.toString(QStringLiteral("yyyy-MM-dd HH:mm")) : QString();
    row.cells[2].tone = Tone::Dim;
    return row;
}

} // namespace

RemoteFileDialog::RemoteFileDialog(QWidget* parent)
    : QDialog(parent), host_(new HostBox(tr("Host"))), path_(new QLineEdit), up_(new QPushButton(tr("Up"))),
      table_(new TableView), state_(new SentenceLabel), open_(new QPushButton(tr("Open")))
{
    setObjectName(QStringLiteral("remoteFileDialog"));
    setWindowTitle(tr("Open on host"));
    path_->setAccessibleName(tr("Folder or file there"));
    path_->setPlaceholderText(tr("folder or file there; empty: your home folder"));
    table_->setAccessibleName(tr("Files there"));
    auto* top = new QHBoxLayout;
    top->setSpacing(sizes().gap);
    top->addWidget(host_);
    top->addWidget(path_, 1);
    top->addWidget(up_);
    auto* cancel = new QPushButton(tr("Cancel"));
    open_->setProperty("kind", "primary");
    auto* bottom = new QHBoxLayout;
    bottom->setSpacing(sizes().gap);
    bottom->addWidget(state_, 1);
    bottom->addWidget(cancel);
    bottom->addWidget(open_);
    for (QPushButton* button : {up_, cancel, open_})
        button->setAutoDefault(false);
    auto* layout = newLayout<QVBoxLayout>(this, sizes().margin, sizes().padding);
    layout->addLayout(top);
    layout->addWidget(table_, 1);
    layout->addLayout(bottom);
    resize(sizes().of(680), sizes().of(420));
    connect(host_, &HostBox::hostChosen, this, [this](const QString& host) {
        browse(host, QSettings().value(QString::fromLatin1(kFolderKey).arg(host)).toString());
    });
    connect(path_, &QLineEdit::returnPressed, this,
            [this] { browse(host_->host(), path_->text().trimmed()); });
    connect(up_, &QPushButton::clicked, this, [this] {
        const QString path = QString::fromStdString(folder_.path);
        browse(host_->host(), path.left(std::max<qsizetype>(path.lastIndexOf(QLatin1Char('/')), 1)));
    });
    connect(table_, &TableView::chosen, this, &RemoteFileDialog::follow);
    connect(table_, &TableView::activatedRow, this, [this] { enter(); });
    connect(open_, &QPushButton::clicked, this, &RemoteFileDialog::enter);
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    host_->setLocalShown(false);
    const QString host = QSettings().value(QLatin1String(kLastHostKey)).toString();
    say(tr("Choose a host."), "dim");
    follow();
    if (!host.isEmpty())
        browse(host, QSettings().value(QString::fromLatin1(kFolderKey).arg(host)).toString());
}

RemoteFileDialog::~RemoteFileDialog()
{
    stop_.request_stop();
}

void RemoteFileDialog::browse(const QString& host, const QString& path)
{
    stop_.request_stop();
    stop_ = std::stop_source();
    host_->setHost(host);
    if (host.isEmpty())
        return say(tr("Choose a host."), "dim");
    path_->setText(path);
    isReading_ = true;
    say(tr("Reading %1…").arg(host), "dim");
    follow();
    reading_.start(
        [name = host.toStdString(), path = path.toStdString(), stop = stop_.get_token()](const auto&) {
            hosts::RemoteFolder folder;
            try {
                hosts::RemoteHost there(hosts::HostList::ofUser().get(name), {});
                there.prepare(stop);
                folder = listFolder(there, path, stop);
            } catch (const hosts::Stopped&) { // nobody waits for it
            }
            return folder;
        },
        [this](const hosts::RemoteFolder& folder) { fill(folder); },
        [this](const QString& failure) {
            isReading_ = false;
            say(failure, "error");
            follow();
        });
}

void RemoteFileDialog::fill(const hosts::RemoteFolder& folder)
{
    isReading_ = false;
    folder_ = folder;
    const QString host = host_->host();
    const QString path = QString::fromStdString(folder_.path);
    path_->setText(path);
    QSettings().setValue(QLatin1String(kLastHostKey), host);
    QSettings().setValue(QString::fromLatin1(kFolderKey).arg(host), path);
    TableData rows;
    rows.columns = {fileColumn(tr("Name"), TableColumn::Kind::Text, 0),
                    fileColumn(tr("Size"), TableColumn::Kind::Number, 110),
                    fileColumn(tr("Changed"), TableColumn::Kind::Number, 130)};
    for (const hosts::RemoteEntry& entry : folder_.entries) {
        rows.rows.push_back(fileRow(entry));
        rows.rows.back().id = std::int64_t(rows.rows.size()) - 1;
    }
    const bool isEmpty = rows.rows.empty();
    table_->show(std::move(rows));
    table_->setCurrentId(isEmpty ? std::nullopt : std::optional<std::int64_t>(0));
    table_->setFocus();
    say(folder_.isCut ? tr("Only the first %1 entries are shown; type a path to reach others.")
                            .arg(wholeNumber(std::int64_t(folder_.entries.size())))
        : isEmpty ? tr("The folder has no files.")
                  : QString(),
        "dim");
    follow();
}

const hosts::RemoteEntry* RemoteFileDialog::current() const
{
    const std::optional<std::int64_t> id = table_->currentId();
    return id && *id >= 0 && std::size_t(*id) < folder_.entries.size() ? &folder_.entries[std::size_t(*id)]
                                                                       : nullptr;
}

QString RemoteFileDialog::pathOf(const hosts::RemoteEntry& entry) const
{
    const std::string slash = folder_.path.ends_with('/') ? "" : "/";
    return QString::fromStdString(folder_.path + slash + entry.name);
}

void RemoteFileDialog::enter()
{
    const hosts::RemoteEntry* entry = current();
    if (entry == nullptr || isReading_)
        return;
    if (entry->isFolder)
        return browse(host_->host(), pathOf(*entry));
    emit chosen(host_->host(), pathOf(*entry));
    accept();
}

void RemoteFileDialog::say(const QString& sentence, const char* kind)
{
    state_->setText(sentence);
    setKind(state_, kind);
}

void RemoteFileDialog::follow()
{
    up_->setEnabled(!isReading_ && folder_.path.size() > 1);
    table_->setEnabled(!isReading_);
    open_->setEnabled(!isReading_ && current() != nullptr);
}

} // namespace tilescope::ui
