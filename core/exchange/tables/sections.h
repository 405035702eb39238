#pragma once

#include "core/exchange/tables/table.h"
#include "core/query/calls/call_tree.h"
#include "core/query/calls/call_tree_difference.h"
#include "core/query/kernels/kernel_tables.h"
#include "core/query/kernels/op_tables.h"
#include "core/query/memory/memory_tables.h"
#include "core/query/memory/oom_report.h"
#include "core/query/memory/saved_table.h"
#include "core/query/memory/tensor_names.h"
#include "core/query/path/path_tables.h"
#include "core/query/path/what_if_table.h"
#include "core/query/ranks/rank_tables.h"
#include "core/query/runs/run_list.h"
#include "core/query/runs/run_tables.h"
#include "core/query/steps/step_tables.h"
#include "core/query/work/work_tables.h"

#include <iosfwd>
#include <memory>

namespace tilescope::exchange {

// The sections of `tilescope show` as tables. Keys, types and units are those of the schemas in
// resources/schema. Each keeps the snapshot that it shows alive.

Table tableOf(std::shared_ptr<const query::RunList> runs);
Table tableOf(std::shared_ptr<const query::SamplesTable> samples);
Table tableOf(std::shared_ptr<const query::LossesTable> losses);
Table tableOf(std::shared_ptr<const query::EnvironmentTable> environment);
Table tableOf(std::shared_ptr<const query::KernelsTable> kernels);
Table tableOf(std::shared_ptr<const query::StepsTable> steps);
Table tableOf(std::shared_ptr<const query::OpsTable> ops);
Table tableOf(std::shared_ptr<const query::RangesTable> ranges);
/// \param most  nodes to show, the longest; 0: all
Table tableOf(std::shared_ptr<const query::CallTreeTable> tree, std::size_t most);
/// Likewise of two runs: a difference of `show FILE tree --against`.
Table tableOf(std::shared_ptr<const query::CallTreeDifference> difference, std::size_t most);
/// Where the wall time of each step and rank went.
Table ranksOf(std::shared_ptr<const query::RanksTable> ranks);
/// The collectives of the same table.
Table collectivesOf(std::shared_ptr<const query::RanksTable> ranks);
/// The parts of the critical path of each step.
Table pathsOf(std::shared_ptr<const query::PathTable> paths);
/// The segments of these paths.
Table pathSegmentsOf(std::shared_ptr<const query::PathTable> paths);
Table tableOf(std::shared_ptr<const query::MemoryEventsTable> events);
Table tableOf(std::shared_ptr<const query::MemoryGroupsTable> groups);
Table tableOf(std::shared_ptr<const query::LiveMemoryTable> live);
Table tableOf(std::shared_ptr<const query::NamedMemory> named);
Table tableOf(std::shared_ptr<const query::SavedTable> saved);
/// The totals of such a table instead of its tensors.
Table totalsOf(std::shared_ptr<const query::SavedTable> saved);
/// One row; people read writeOom() instead.
Table tableOf(std::shared_ptr<const query::OomReport> report);
/// Why a run was out of memory, in sentences, and who had it.
void writeOom(std::ostream& out, const query::OomReport& report);
Table tableOf(std::shared_ptr<const query::RooflineTable> roofline);
Table tableOf(std::shared_ptr<const query::MfuTable> mfu);
/// Steps after a change, one row for each rank.
Table tableOf(std::shared_ptr<const query::WhatIfTable> whatIf);
Table tableOf(std::shared_ptr<const std::vector<Ceiling>> ceilings);

/// Everything about one run as two columns, for reading; not for programs, which have the table of runs.
Table sheetOf(const query::RunRow& run);

/// `run 3: lm small, ok on cuda:0`, for headings.
std::string describeRun(const store::RunRecord& run);

} // namespace tilescope::exchange
