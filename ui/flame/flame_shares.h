#pragma once

#include "core/query/calls/flame_graph.h"
#include "ui/kit/table_model.h"

#include <QString>

#include <utility>
#include <vector>

namespace tilescope::ui {

/// The name of a box, or of the whole run.
QString boxTitle(const query::FlameGraph& graph, query::CallTree::Node node);

/// The noun for the ends of stacks: singular, plural.
std::pair<QString, QString> endWords(const query::FlameGraph& graph);

/// What took the time of a box: the ends of the stacks within it, with their part of it. Of two runs both are side by side;
/// the drawn widths are the larger of both, so neither run has them.
/// \param shares  those of query::sharesOf() for `node`; must outlive the call only
TableData sharesTable(const query::FlameGraph& graph, query::CallTree::Node node,
                      const std::vector<query::FlameShare>& shares);

} // namespace tilescope::ui
