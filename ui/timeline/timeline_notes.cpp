#include "ui/timeline/timeline_notes.h"

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "ui/kit/text_file.h"

#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLockFile>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace tilescope::ui {

namespace {

constexpr int kVersion = 1;
constexpr qint64 kLargestFile = 8 * 1024 * 1024;
constexpr std::size_t kMostNotes = 10'000;
constexpr qsizetype kLongestText = 2'000;
constexpr qsizetype kLongestId = 64;
constexpr double kLatest = 9.0e18; // nanoseconds; about the range of int64
constexpr int kLockMs = 2'000;

Error refusal(const char* what, const QString& file)
{
    return Error{.what = what,
                 .where = file.toStdString(),
                 .remedy = "move it away to make notes; the recording itself is not affected"};
}

// Without what could break a line or turn the direction of the text around it.
QString harmless(QString text, qsizetype longest)
{
    text.truncate(longest);
    QString clean;
    for (const QChar c : std::as_const(text)) {
        const bool turns = (c.unicode() >= 0x202A && c.unicode() <= 0x202E) ||
                           (c.unicode() >= 0x2066 && c.unicode() <= 0x2069) || c.unicode() == 0x200E ||
                           c.unicode() == 0x200F;
        if (c.category() == QChar::Other_Control || c == QChar::LineSeparator ||
            c == QChar::ParagraphSeparator)
            clean += QLatin1Char(' ');
        else if (!turns)
            clean += c;
    }
    return clean.trimmed();
}

// A time in nanoseconds; -1 if it is invalid.
std::int64_t timeOf(const QJsonValue& value)
{
    const double number = value.toDouble(-1);
    return std::isfinite(number) && number >= 0 && number < kLatest ? value.toInteger(std::int64_t(number))
                                                                    : -1;
}

TimelineNote noteOf(const QJsonObject& object)
{
    TimelineNote note;
    note.id = harmless(object[QLatin1String("id")].toString(), kLongestId);
    note.run = harmless(object[QLatin1String("run")].toString(), kLongestId);
    note.at = timeOf(object[QLatin1String("at_ns")]);
    note.length = std::max<std::int64_t>(0, timeOf(object[QLatin1String("length_ns")]));
    note.about = harmless(object[QLatin1String("about")].toString(), kLongestText);
    note.text = harmless(object[QLatin1String("text")].toString(), kLongestText);
    return note;
}

QJsonObject objectOf(const TimelineNote& note)
{
    return {{QStringLiteral("id"), note.id},
            {QStringLiteral("run"), note.run},
            {QStringLiteral("at_ns"), qint64(note.at)},
            {QStringLiteral("length_ns"), qint64(note.length)},
            {QStringLiteral("about"), note.about},
            {QStringLiteral("text"), note.text}};
}

void sort(std::vector<TimelineNote>& notes)
{
    std::stable_sort(notes.begin(), notes.end(), [](const TimelineNote& a, const TimelineNote& b) {
        return std::tie(a.run, a.at, a.id) < std::tie(b.run, b.at, b.id);
    });
}

} // namespace

std::vector<TimelineNote> edited(std::vector<TimelineNote> notes, const std::vector<NoteEdit>& edits)
{
    for (const NoteEdit& edit : edits) {
        const auto same = std::find_if(notes.begin(), notes.end(),
                                       [&edit](const TimelineNote& note) { return note.id == edit.note.id; });
        if (same != notes.end() && edit.removed)
            notes.erase(same);
        else if (same != notes.end())
            *same = edit.note;
        else if (!edit.removed)
            notes.push_back(edit.note);
    }
    sort(notes);
    return notes;
}

QString notesFileOf(const QString& recording)
{
    return recording + QStringLiteral(".notes.json");
}

std::vector<TimelineNote> readNotes(const QString& file)
{
    const QFileInfo info(file);
    if (!info.exists() && !info.isSymLink())
        return {};
    // A pipe or a device would block or never end.
    if (!info.isFile())
        throw refusal("the notes are not a regular file", file);
    const QByteArray text = readTextFile(file, kLargestFile, QObject::tr("file of notes"));
    QJsonParseError problem;
    const QJsonDocument document = QJsonDocument::fromJson(text, &problem);
    if (problem.error != QJsonParseError::NoError || !document.isObject())
        throw refusal("the notes are not a JSON object", file);
    const QJsonObject root = document.object();
    if (root[QLatin1String("version")].toInt() != kVersion)
        throw refusal("the notes have a version that this program does not support", file);
    std::vector<TimelineNote> notes;
    for (const auto& value : root[QLatin1String("notes")].toArray()) {
        TimelineNote note = noteOf(value.toObject());
        if (note.id.isEmpty() || note.run.isEmpty() || note.at < 0)
            continue;
        if (notes.size() == kMostNotes)
            break;
        notes.push_back(std::move(note));
    }
    sort(notes);
    return notes;
}

std::vector<TimelineNote> changeNotes(const QString& file, const std::vector<NoteEdit>& edits)
{
    // Two windows may show one recording. If the folder is not writable, saving reports it below.
    QLockFile lock(file + QStringLiteral(".lock"));
    if (!lock.tryLock(kLockMs) && lock.error() == QLockFile::LockFailedError)
        throw Error{.what = "the notes are being changed by another window",
                    .where = file.toStdString(),
                    .remedy = "try again"};
    std::vector<TimelineNote> notes = edited(readNotes(file), edits);
    if (notes.size() > kMostNotes)
        throw Error{.what = "there are too many notes", .where = file.toStdString()};
    if (notes.empty()) {
        if (QFile::exists(file) && !QFile::remove(file))
            throw Error{.what = "the notes cannot be removed", .where = file.toStdString()};
        return notes;
    }
    QJsonArray array;
    for (const TimelineNote& note : notes)
        array.append(objectOf(note));
    const QJsonObject root{{QStringLiteral("version"), kVersion}, {QStringLiteral("notes"), array}};
    try {
        writeOutput(file.toStdString(), QJsonDocument(root).toJson().toStdString());
    } catch (const Error& error) {
        throw Error{.what = "the notes are not saved: " + error.what,
                    .where = file.toStdString(),
                    .remedy = "notes are kept beside the recording: its folder must be writable"};
    }
    return notes;
}

} // namespace tilescope::ui
