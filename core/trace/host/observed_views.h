#pragma once

// Also part of the recorder's plug-in, which is compiled on the user's machine: C++17, LibTorch from 2.0 on.
namespace tilescope::trace {

/// Whether LibTorch notifies listeners of operators (at::RecordFunction) of ATen's views.
///
/// A view returns memory of its input and changes nothing: aten::view, aten::transpose, aten::detach, and also aten::to
/// and aten::reshape, which call other operators if they must copy. About half of the operators of a training step are
/// views; they launch and allocate nothing, and a notification costs more than a view. Initially, views are observed.
///
/// \return  number of operators that were changed
int setViewsObserved(bool observed);

} // namespace tilescope::trace
