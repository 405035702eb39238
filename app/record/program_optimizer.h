#pragma once

namespace tilescope::record {

struct PythonApi;

/// Which optimizer's steps are the steps of the program. All with the interpreter's lock.

/// Whether a step that the optimizer has made is one of the program: the first optimizer's, and, in a thread or task that trains
/// with others, that of the first among them. An optimizer takes the place of the first one when that is freed, or when it has
/// made many steps without a step of the first one in between, as where a second stage of a training has its own. Its steps until
/// then are possible steps, see Recorder::notePossibleStep().
bool isProgramsOptimizer(const PythonApi& api, void* optimizer) noexcept;

/// Asks the function from now on which greenlet or task runs.
void askForTask(const PythonApi& api, void* function) noexcept;

/// After a fork.
void forgetProgramsOptimizers() noexcept;

} // namespace tilescope::record
