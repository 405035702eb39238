#include "core/exchange/export/arrow_export.h"

#include "core/base/error.h"
#include "core/base/output_folder.h"
#include "core/exchange/export/arrow_file.h"
#include "core/exchange/export/export_text.h"
#include "core/exchange/export/export_topology.h"
#include "core/model/text.h"

#include <fstream>
#include <functional>

namespace tilescope::exchange {

namespace fs = std::filesystem;

namespace {

using Columns = std::vector<ArrowColumn>;

ArrowColumn text(std::string name)
{
    return {.name = std::move(name), .type = ArrowType::Text};
}

ArrowColumn count(std::string name)
{
    return {.name = std::move(name), .type = ArrowType::Int64};
}

ArrowColumn number(std::string name)
{
    return {.name = std::move(name), .type = ArrowType::Int32};
}

ArrowColumn time(std::string name)
{
    return {.name = std::move(name), .type = ArrowType::Int64, .unit = "ns"};
}

ArrowColumn bytes(std::string name)
{
    return {.name = std::move(name), .type = ArrowType::Int64, .unit = "B"};
}

ArrowColumn address(std::string name)
{
    return {.name = std::move(name), .type = ArrowType::UInt64};
}

template <class Value> ArrowFile& addIf(ArrowFile& table, const std::optional<Value>& value)
{
    return value ? table.add(*value) : table.null();
}

/// 0 stands for unknown.
ArrowFile& addIfKnown(ArrowFile& table, std::int64_t value)
{
    return value != 0 ? table.add(value) : table.null();
}

ArrowFile& addIf(ArrowFile& table, const std::optional<Bytes>& value)
{
    return value ? table.add(value->count) : table.null();
}

ArrowFile& addUnless(ArrowFile& table, std::int64_t none, std::int64_t value)
{
    return value == none ? table.null() : table.add(value);
}

class ArrowExport {
public:
    ArrowExport(const fs::path& folder, const store::RunReader& reader, const store::RunRecord& run,
                const ExportOptions& options)
        : folder_(folder), reader_(reader), run_(run), withIdentity_(options.withIdentity),
          topology_(reader, run, options.withIdentity)
    {
    }

    void write()
    {
        writeRuns();
        writeTopology();
        writeSamples();
        writeActivities();
        writeHostEvents();
        writeAllocations();
        writeBetweenProcesses();
        writeLosses();
    }

    std::vector<std::pair<std::string, std::int64_t>> written;

private:
    std::string shown(std::string_view text) const { return exportedText(text, withIdentity_); }

    /// \param fill  adds all rows; called twice
    void table(const std::string& name, Columns columns, const std::function<void(ArrowFile&)>& fill)
    {
        const fs::path path = folder_ / (name + ".arrow");
        std::ofstream out(path, std::ios::binary);
        ArrowFile file(out, std::move(columns), [this](StringId id) { return shown(reader_.text(id)); });
        fill(file);
        file.beginRows();
        fill(file);
        file.finish();
        out.close();
        if (!out)
            throw Error{.what = "cannot be written",
                        .where = path.string(),
                        .remedy = "check the folder and the space on its disk",
                        .kind = ErrorKind::Failure};
        written.emplace_back(name, file.rows());
    }

    std::int64_t at(Timestamp moment) const { return (moment - run_.clockOrigin).count(); }
    template <class Event> ArrowFile& addTimes(ArrowFile& table, const Event& event) const
    {
        table.add(at(event.start)).add(at(event.end));
        return event.step == kNoStep ? table.null() : table.add(event.step);
    }
    store::EventWindow all() const { return {.run = run_.run}; }

    // The run -----------------------------------------------------------------------------------------------

    void writeRuns()
    {
        table("runs",
              {count("run"), text("uid"), text("name"), text("workload"), text("program"), text("status"),
               text("reason"), text("device"), time("started_unix"), time("duration"), count("parameters"),
               bytes("peak_allocated"), bytes("peak_reserved"), count("records_checked")},
              [this](ArrowFile& rows) {
                  const RunResult& result = run_.result;
                  rows.add(run_.run.value).add(run_.uid).add(shown(run_.name)).add(shown(run_.workload));
                  rows.add(shown(run_.program)).add(wordOf(result.status)).add(shown(result.reason));
                  rows.add(shown(result.device));
                  addIfKnown(rows, run_.startedUnixNs).add(result.duration.count());
                  addIf(rows, result.parameters);
                  addIf(rows, result.peakAllocated);
                  addIf(rows, result.peakReserved);
                  rows.add(run_.recordsChecked).endRow();
              });
    }

    void writeTopology()
    {
        Columns columns{number("process"), count("pid"), text("name"), number("rank"), number("world_size")};
        if (withIdentity_) {
            columns.push_back(text("host"));
            columns.push_back(text("command_line"));
        }
        table("processes", std::move(columns), [this](ArrowFile& rows) {
            std::int32_t index = 0;
            for (const ExportedProcess& process : topology_.processes()) {
                rows.add(index++).add(process.pid).add(process.name);
                addIf(rows, process.rank);
                addIf(rows, process.worldSize);
                if (withIdentity_)
                    rows.add(process.host).add(process.commandLine);
                rows.endRow();
            }
        });
        table("threads", {count("thread"), number("process"), count("native"), text("name")},
              [this](ArrowFile& rows) {
                  for (const ThreadName& thread : topology_.threads()) {
                      rows.add(thread.thread)
                          .add(static_cast<std::int64_t>(topology_.processOf(thread.thread)));
                      rows.add(topology_.nativeOf(thread.thread)).add(thread.name).endRow();
                  }
              });
        table("devices",
              {number("device"), number("ordinal"), text("name"), text("capability"), bytes("memory"),
               number("multiprocessors")},
              [this](ArrowFile& rows) {
                  for (const TracedDevice& device : topology_.devices()) {
                      rows.add(device.id).add(device.ordinal).add(device.name).add(shown(device.capability));
                      addIf(rows, device.memory);
                      addIf(rows, device.multiprocessors);
                      rows.endRow();
                  }
              });
        table("streams",
              {number("device"), count("stream"), number("process"), count("native"), count("context")},
              [this](ArrowFile& rows) {
                  for (const TracedStream& stream : topology_.streams()) {
                      rows.add(stream.device).add(stream.id);
                      rows.add(static_cast<std::int64_t>(topology_.processOf(stream.process)))
                          .add(stream.native);
                      addIf(rows, stream.context);
                      rows.endRow();
                  }
              });
    }

    void writeSamples()
    {
        table("samples", {number("step"), text("kind"), text("phase"), time("wall"), time("gpu")},
              [this](ArrowFile& rows) {
                  for (const Sample& sample : reader_.samples(run_.run)) {
                      rows.add(sample.step).add(wordOf(sample.kind)).add(wordOf(sample.phase));
                      rows.add(sample.wall.count());
                      if (sample.gpu)
                          rows.add(sample.gpu->count());
                      else
                          rows.null();
                      rows.endRow();
                  }
              });
    }

    // Events ------------------------------------------------------------------------------------------------

    void addActivity(ArrowFile& rows, const DeviceEvent& event) const
    {
        addTimes(rows, event).add(event.name).add(event.path).add(event.device).add(event.stream);
        rows.add(event.correlation).add(event.op).add(event.range).add(event.launchThread);
        if (event.launched == Timestamp{})
            rows.null();
        else
            rows.add(at(event.launched));
        if (event.graphNode == 0)
            rows.null();
        else
            rows.add(event.graphNode);
    }

    void writeActivities()
    {
        const Columns shared{
            time("start"),          time("end"),      number("step"),       text("name"), text("path"),
            number("device"),       count("stream"),  count("correlation"), count("op"),  count("range"),
            count("launch_thread"), time("launched"), address("graph_node")};
        Columns kernels = shared;
        for (const char* name : {"grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "cluster_x",
                                 "cluster_y", "cluster_z"})
            kernels.push_back(count(name));
        kernels.push_back(count("registers"));
        for (const char* name : {"static_shared", "dynamic_shared", "local"})
            kernels.push_back(bytes(name));
        table("kernels", kernels, [this](ArrowFile& rows) {
            reader_.eachDeviceEvent(all(), [&](const DeviceEvent& event) {
                if (event.kind != DeviceEventKind::Kernel)
                    return true;
                addActivity(rows, event);
                for (const auto& sizes : {event.launch.grid, event.launch.block, event.launch.cluster})
                    for (const std::uint32_t size : sizes)
                        rows.add(size);
                addIfKnown(rows, event.launch.registersPerThread).add(event.launch.staticShared);
                rows.add(event.launch.dynamicShared).add(event.launch.localPerThread).endRow();
                return true;
            });
        });
        Columns copies = shared;
        copies.push_back(text("kind"));
        copies.push_back(text("direction"));
        copies.push_back(bytes("bytes"));
        table("copies", copies, [this](ArrowFile& rows) {
            reader_.eachDeviceEvent(all(), [&](const DeviceEvent& event) {
                if (event.kind == DeviceEventKind::Kernel)
                    return true;
                addActivity(rows, event);
                rows.add(wordOf(event.kind));
                if (event.copy == CopyKind::None)
                    rows.null();
                else
                    rows.add(wordOf(event.copy));
                rows.add(event.bytes).endRow();
                return true;
            });
        });
    }

    void writeHostEvents()
    {
        table("ranges",
              {count("id"), count("parent"), time("start"), time("end"), number("step"), text("name"),
               text("path"), count("thread")},
              [this](ArrowFile& rows) {
                  reader_.eachRange(all(), [&](const Range& range) {
                      rows.add(range.id).add(range.parent);
                      addTimes(rows, range).add(range.name).add(range.path).add(range.thread).endRow();
                      return true;
                  });
              });
        table(
            "ops",
            {count("id"), count("parent"), time("start"), time("end"), number("step"), text("name"),
             text("shapes"), text("path"), count("range"), count("thread"), count("sequence"), text("scope")},
            [this](ArrowFile& rows) {
                reader_.eachOp(all(), [&](const Op& op) {
                    rows.add(op.id).add(op.parent);
                    addTimes(rows, op).add(op.name).add(op.shapes).add(op.path).add(op.range).add(op.thread);
                    addUnless(rows, -1, op.sequence).add(wordOf(op.scope)).endRow();
                    return true;
                });
            });
        table("api_calls",
              {time("start"), time("end"), number("step"), text("name"), text("kind"), count("correlation"),
               count("op"), count("range"), count("thread")},
              [this](ArrowFile& rows) {
                  reader_.eachApiCall(all(), [&](const ApiCall& call) {
                      addTimes(rows, call).add(call.name).add(wordOf(call.kind)).add(call.correlation);
                      rows.add(call.op).add(call.range).add(call.thread).endRow();
                      return true;
                  });
              });
        table("frames", {time("start"), time("end"), number("step"), text("name"), count("thread")},
              [this](ArrowFile& rows) {
                  reader_.eachFrame(all(), [&](const Frame& frame) {
                      addTimes(rows, frame).add(frame.name).add(frame.thread).endRow();
                      return true;
                  });
              });
    }

    void writeAllocations()
    {
        table("allocations",
              {time("time"), number("step"), text("action"), number("device"), address("address"),
               bytes("bytes"), bytes("allocated"), bytes("reserved"), count("stream"), count("pool"),
               text("category"), text("path"), count("op")},
              [this](ArrowFile& rows) {
                  reader_.eachAllocEvent(all(), [&](const AllocEvent& event) {
                      rows.add(at(event.time));
                      addUnless(rows, kNoStep, event.step).add(wordOf(event.action)).add(event.device);
                      rows.add(event.address).add(event.bytes).add(event.allocated).add(event.reserved);
                      rows.add(event.stream).add(event.pool).add(event.category).add(event.path);
                      rows.add(event.op).endRow();
                      return true;
                  });
              });
    }

    void writeBetweenProcesses()
    {
        table("collectives",
              {time("start"), time("end"), number("step"), number("process"), text("op"), text("group"),
               text("ranks"), text("dtype"), count("sequence"), bytes("bytes"), number("group_size"),
               number("peer"), number("device"), count("stream"), count("thread"), count("correlation"),
               count("range"), text("path")},
              [this](ArrowFile& rows) {
                  for (const Collective& each : reader_.collectives(run_.run)) {
                      addTimes(rows, each).add(each.process).add(each.op).add(each.group).add(each.ranks);
                      rows.add(each.dtype);
                      addUnless(rows, -1, each.sequence);
                      addUnless(rows, -1, each.bytes);
                      addUnless(rows, 0, each.groupSize);
                      addUnless(rows, -1, each.peer).add(each.device).add(each.stream).add(each.thread);
                      rows.add(each.correlation).add(each.range).add(each.path).endRow();
                  }
              });
        table("waits",
              {time("start"), time("end"), number("step"), text("kind"), number("process"), number("device"),
               count("stream"), count("waited_for"), count("correlation"), count("record_correlation")},
              [this](ArrowFile& rows) {
                  for (const Wait& wait : reader_.waits(run_.run)) {
                      addTimes(rows, wait).add(wordOf(wait.kind)).add(wait.process).add(wait.device);
                      rows.add(wait.stream).add(wait.waitedFor).add(wait.correlation);
                      rows.add(wait.recordCorrelation).endRow();
                  }
              });
    }

    void writeLosses()
    {
        table("losses", {text("kind"), text("severity"), count("count"), text("detail")},
              [this](ArrowFile& rows) {
                  for (const store::RunReader::LossRecord& loss : reader_.losses(run_.run))
                      rows.add(loss.kind).add(loss.severity).add(loss.count).add(shown(loss.detail)).endRow();
              });
    }

    const fs::path folder_;
    const store::RunReader& reader_;
    const store::RunRecord& run_;
    const bool withIdentity_;
    const ExportTopology topology_;
};

} // namespace

std::vector<std::pair<std::string, std::int64_t>> writeArrow(const fs::path& folder,
                                                             const store::RunReader& reader,
                                                             const store::RunRecord& run,
                                                             const ExportOptions& options)
{
    OutputFolder output(folder, {reader.file()});
    ArrowExport exporter(output.draft(), reader, run, options);
    output.write([&] { reader.atOnce([&] { exporter.write(); }); });
    output.commit();
    return exporter.written;
}

} // namespace tilescope::exchange
