#include "ui/timeline/timeline_notebook.h"

#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QUuid>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

// NoteEditor
// -----------------------------------------------------------------------------------------------------

NoteEditor::NoteEditor(QWidget* parent) : QFrame(parent), line_(new QLineEdit)
{
    setProperty("kind", "panel");
    setAutoFillBackground(true);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(sizes().of(4), sizes().of(4), sizes().of(4), sizes().of(4));
    line_->setMinimumWidth(sizes().of(280));
    line_->setMaxLength(2000);
    line_->setAccessibleName(tr("Note"));
    line_->installEventFilter(this);
    layout->addWidget(line_);
    hide();
    connect(line_, &QLineEdit::returnPressed, this, [this] {
        if (isHidden())
            return;
        hide();
        parentWidget()->parentWidget()->setFocus();
        emit written(line_->text().trimmed());
    });
}

void NoteEditor::open(QPoint at, const QString& text, const QString& title)
{
    line_->setText(text);
    line_->setPlaceholderText(title);
    adjustSize();
    const QRect room = parentWidget()->rect().adjusted(4, 4, -4, -4);
    QRect place(at + QPoint(0, sizes().of(8)), size());
    place.moveLeft(std::clamp(place.left(), room.left(), std::max(room.left(), room.right() - width())));
    place.moveTop(std::clamp(place.top(), room.top(), std::max(room.top(), room.bottom() - height())));
    move(place.topLeft());
    show();
    raise();
    line_->setFocus();
    line_->selectAll();
}

bool NoteEditor::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        hide();
        parentWidget()->parentWidget()->setFocus();
        return true;
    }
    if (event->type() == QEvent::FocusOut)
        hide();
    return QFrame::eventFilter(watched, event);
}

// TimelineNotebook
// -----------------------------------------------------------------------------------------------

TimelineNotebook::TimelineNotebook(TimelineView& view, QObject* parent)
    : QObject(parent), view_(view), editor_(new NoteEditor(view.viewport()))
{
    connect(editor_, &NoteEditor::written, this, [this](const QString& text) {
        edited_.text = text;
        edit(editedFile_, {edited_, false});
    });
    connect(&view_, &TimelineView::noteClicked, this, &TimelineNotebook::goTo);
}

TimelineNotebook::~TimelineNotebook() = default;

QString TimelineNotebook::fileOf(const SelectedRun& run) const
{
    return notesFileOf(QString::fromStdString(run.file->shown().string()));
}

void TimelineNotebook::setRuns(std::vector<SelectedRun> runs)
{
    runs_ = std::move(runs);
    editor_->hide();
    for (const SelectedRun& run : runs_)
        if (const QString file = fileOf(run); !files_.contains(file))
            read(file);
    show();
}

void TimelineNotebook::read(const QString& file)
{
    FileNotes& notes = files_[file];
    notes.jobs = std::make_unique<JobTracker>(this);
    notes.jobs->start([file](const query::Cancelled&) { return readNotes(file); },
                      [this, file](std::vector<TimelineNote> notes) {
                          files_[file].kept = std::move(notes);
                          show();
                      },
                      [this](const QString& sentence) { emit problem(sentence); });
}

// Writes every edit that is not known to be written: a replaced job may or may not have written its edits, and
// applying an edit twice is harmless.
void TimelineNotebook::save(const QString& file)
{
    FileNotes& notes = files_[file];
    const std::size_t count = notes.unsaved.size();
    notes.jobs->start(
        [file, edits = notes.unsaved](const query::Cancelled&) { return changeNotes(file, edits); },
        [this, file, count](std::vector<TimelineNote> notes) {
            FileNotes& saved = files_[file];
            saved.kept = std::move(notes);
            saved.unsaved.erase(saved.unsaved.begin(), saved.unsaved.begin() + std::ptrdiff_t(count));
            show();
        },
        [this](const QString& sentence) { emit problem(sentence); });
}

void TimelineNotebook::edit(const QString& file, NoteEdit edit)
{
    files_[file].unsaved.push_back(std::move(edit));
    show();
    save(file);
}

void TimelineNotebook::show()
{
    shown_.clear();
    const std::size_t sections = view_.scene().sections.size();
    for (std::size_t s = 0; s < runs_.size() && s < sections; ++s) {
        const auto notes = files_.find(fileOf(runs_[s]));
        if (notes == files_.end())
            continue;
        for (const TimelineNote& note : edited(notes->second.kept, notes->second.unsaved))
            if (note.run.toStdString() == runs_[s].run->uid)
                shown_.push_back({note.id, s, note.at, note.length, note.text});
    }
    view_.setNotes(shown_);
    emit changed();
}

std::pair<QString, std::optional<TimelineNote>> TimelineNotebook::find(const QString& id) const
{
    for (const auto& [file, notes] : files_)
        for (const TimelineNote& note : edited(notes.kept, notes.unsaved))
            if (note.id == id)
                return {file, note};
    return {};
}

QString TimelineNotebook::about(const QString& id) const
{
    const auto note = find(id).second;
    return note ? note->about : QString();
}

void TimelineNotebook::startNote()
{
    const TimelineScene& scene = view_.scene();
    if (runs_.empty() || scene.sections.empty())
        return;
    const std::size_t s =
        std::min(scene.selected ? scene.selected->section : view_.commandSection(), runs_.size() - 1);
    const TimelineSection& section = scene.sections[s];
    edited_ = {};
    edited_.id = QUuid::createUuid().toString(QUuid::WithoutBraces);
    edited_.run = QString::fromStdString(runs_[s].run->uid);
    editedFile_ = fileOf(runs_[s]);
    if (scene.span) {
        edited_.at = std::llround(section.toTimeline(scene.span->from));
        edited_.length = std::llround(scene.span->length() / section.stretch);
    } else if (scene.selected) {
        const query::TimelineItem& item = scene.selected->item;
        const query::Track& row = section.timeline->lanes[item.lane].rows[item.row];
        edited_.at = row.start(item.index);
        edited_.length = row.length(item.index);
        edited_.about = QString::fromStdString(section.timeline->names[row.name(item.index)].label);
    } else {
        edited_.at = std::llround(section.toTimeline(view_.commandAxis()));
    }
    edited_.at = std::max<std::int64_t>(0, edited_.at);
    editor_->open(view_.commandPoint(), {}, tr("Note; Enter for a bookmark"));
}

void TimelineNotebook::startEdit(const QString& id)
{
    const auto [file, note] = find(id);
    if (!note)
        return;
    editedFile_ = file;
    edited_ = *note;
    goTo(id);
    editor_->open(view_.viewport()->rect().center(), note->text, tr("Note"));
}

void TimelineNotebook::remove(const QString& id)
{
    const auto [file, note] = find(id);
    if (note)
        edit(file, {*note, true});
}

void TimelineNotebook::goTo(const QString& id)
{
    for (const SceneNote& note : shown_) {
        if (note.id != id)
            continue;
        const TimelineSection& section = view_.scene().sections[note.section];
        const double from = section.toAxis(double(note.at));
        const double to = section.toAxis(double(note.at + note.length));
        const TimeWindow& window = view_.window();
        if (from < window.from || to > window.to) {
            const double length = std::max(window.length(), (to - from) * 1.3);
            view_.setWindow({(from + to - length) / 2, (from + to + length) / 2});
        }
        if (note.length > 0)
            view_.setSpan(TimeWindow{from, to});
        return;
    }
}

} // namespace tilescope::ui
