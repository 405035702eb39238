#pragma once

#include <QString>

#include <cstdint>
#include <string>
#include <vector>

namespace tilescope::ui {

/// A bookmark or note on a run, at an instant or over an interval of its timeline.
struct TimelineNote {
    QString id;          ///< unique, so that it is found after other changes to the file
    QString run;         ///< uid: the note stays with its run where runs are renumbered or copied
    std::int64_t at = 0; ///< nanoseconds from the run's first event
    std::int64_t length = 0;
    QString about; ///< name of the box that it was made at; empty for a moment
    QString text;  ///< empty: a bookmark

    bool operator==(const TimelineNote&) const = default;
};

/// One change to a file's notes. Applying it twice is applying it once.
struct NoteEdit {
    TimelineNote note;
    bool removed = false;
};

/// Notes after some edits: an edit of an unknown id adds it.
std::vector<TimelineNote> edited(std::vector<TimelineNote> notes, const std::vector<NoteEdit>& edits);

/// The file of the notes about a recording. It is beside the recording, so that the recording stays unchanged.
QString notesFileOf(const QString& recording);

/// The notes of a sidecar file, by run and time; none if there is no such file. Its contents are
/// untrusted: texts are truncated, control characters removed, and invalid notes left out. Blocks on the
/// disk: not for the GUI thread.
/// \throws Error  it is not a regular file, too large, no JSON, or of a later version
std::vector<TimelineNote> readNotes(const QString& file);

/// Reads the file again, applies the edits and writes it whole, all or nothing; what another window wrote
/// meanwhile stays. A file that holds no note is removed. Blocks.
/// \return  the notes that it holds now
/// \throws Error  as readNotes, and then nothing is changed; or it cannot be written
std::vector<TimelineNote> changeNotes(const QString& file, const std::vector<NoteEdit>& edits);

} // namespace tilescope::ui
