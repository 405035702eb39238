#pragma once

#include "core/base/file_descriptor.h"

#include <string>

namespace tilescope::rendezvous {

/// Memory that the ranks of one host share. Their supervisor creates it, so that no other process can have created
/// it before, and no name in a file system leads to it. It lasts as long as this object or a rank that has it open,
/// also if one of them is killed. One thread.
class RankMemory {
public:
    /// \throws Error (Environment)  there is no shared memory
    RankMemory();

    /// Random; no other memory has this name.
    const std::string& name() const { return name_; }
    /// Where processes of the same user and of this process namespace can open it, while this object lives.
    std::string path() const;

private:
    const std::string name_;
    const FileDescriptor memory_;
};

/// Opens the memory of a supervisor for reading and writing; it may be empty.
///
/// \param path, name  those of the RankMemory
/// \throws Error (Environment)  it cannot be opened, has another name, or belongs to another user
FileDescriptor openRankMemory(const std::string& path, const std::string& name);

} // namespace tilescope::rendezvous
