#pragma once

#include <QStringList>

#include <string_view>

namespace tilescope::ui {

/// The frames of an imported stack, "torch/nn/modules/linear.py:134 forward", each part innermost first. Empty of a
/// path of ranges.
struct StackLines {
    QStringList own;       ///< of the program's own code
    QStringList libraries; ///< the others

    bool isEmpty() const { return own.isEmpty() && libraries.isEmpty(); }
};
/// \param path  of a block: frames as components
StackLines stackLines(std::string_view path);

/// A stack in a line: the innermost frame of the program's own code, then that of all, without folders:
/// "train.py:24 forward → linear.py:134 forward". Empty if the path is one of ranges.
QString stackName(std::string_view path);

} // namespace tilescope::ui
