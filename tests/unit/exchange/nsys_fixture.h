#pragma once

// Small databases like those of `nsys export`, in the layouts of different years, and the result of their
// import.

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/exchange/imported_run.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tilescope::exchange {

/// A SQLite file that a test fills by SQL.
class SqlFile {
public:
    explicit SqlFile(std::filesystem::path path) : path_(std::move(path))
    {
        if (sqlite3_open(path_.c_str(), &database_) != SQLITE_OK)
            throw std::runtime_error("no database");
        run("pragma synchronous = off");
    }
    ~SqlFile() { close(); }
    SqlFile(const SqlFile&) = delete;
    SqlFile& operator=(const SqlFile&) = delete;

    SqlFile& run(const std::string& sql)
    {
        char* message = nullptr;
        if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, &message) != SQLITE_OK)
            throw std::runtime_error(std::string(message) + " in " + sql);
        return *this;
    }
    void close()
    {
        sqlite3_close(database_);
        database_ = nullptr;
    }
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
    sqlite3* database_ = nullptr;
};

/// globalPid and globalTid of virtual machine 1.
inline std::string globalPid(std::int64_t pid)
{
    return std::to_string((std::int64_t{1} << 48) + (pid << 24));
}
inline std::string globalTid(std::int64_t pid, std::int64_t tid)
{
    return std::to_string((std::int64_t{1} << 48) + (pid << 24) + tid);
}

class Nsys : public ::testing::Test {
protected:
    /// An empty database.
    SqlFile& newFile(const std::string& name = "report.sqlite")
    {
        return *files_.emplace_back(std::make_unique<SqlFile>(folder_ / name));
    }

    ImportedRun imported(SqlFile& file)
    {
        file.close();
        const std::filesystem::path output = folder_ / ("out" + std::to_string(++outputs_) + ".tscope");
        const std::vector<std::filesystem::path> inputs{file.path()};
        const ImportResult result = importFiles(inputs, output);
        return {output, result};
    }
    /// Why a file is refused; empty if it is imported.
    std::string refusalOf(SqlFile& file)
    {
        try {
            imported(file);
        } catch (const Error& error) {
            return error.sentence();
        }
        return {};
    }

    testing::TemporaryFolder folder_;

private:
    std::vector<std::unique_ptr<SqlFile>> files_;
    int outputs_ = 0;
};

/// The tables that every form has, with the columns that all have in common.
inline constexpr const char* kOldTables = R"sql(
    create table StringIds (id integer not null primary key, value text not null);
    create table CUPTI_ACTIVITY_KIND_KERNEL (start integer, end integer, deviceId integer, contextId integer,
        streamId integer, correlationId integer, globalPid integer, demangledName integer, shortName integer,
        launchType integer, registersPerThread integer, gridX integer, gridY integer, gridZ integer,
        blockX integer, blockY integer, blockZ integer, staticSharedMemory integer,
        dynamicSharedMemory integer, localMemoryPerThread integer, graphNodeId integer);
    create table CUPTI_ACTIVITY_KIND_RUNTIME (start integer, end integer, eventClass integer,
        globalTid integer, correlationId integer, nameId integer, returnValue integer, callchainId integer);
    create table CUPTI_ACTIVITY_KIND_MEMCPY (start integer, end integer, deviceId integer, contextId integer,
        streamId integer, correlationId integer, globalPid integer, bytes integer, copyKind integer,
        srcKind integer, dstKind integer, graphNodeId integer);
    create table CUPTI_ACTIVITY_KIND_MEMSET (start integer, end integer, deviceId integer, contextId integer,
        streamId integer, correlationId integer, globalPid integer, value integer, bytes integer,
        graphNodeId integer, memKind integer);
    create table ThreadNames (nameId integer not null, priority integer, globalTid integer);
    insert into StringIds values (0, ''), (1, 'cudaLaunchKernel_v7000'), (2, 'void gemm<float>(float*)'),
        (3, 'gemm'), (4, 'main'), (5, 'cudaMemcpyAsync_v3020');
)sql";

inline constexpr const char* kNvtxTable = R"sql(
    create table NVTX_EVENTS (start integer not null, end integer, eventType integer not null,
        rangeId integer, category integer, color integer, text text, globalTid integer, endGlobalTid integer,
        textId integer, domainId integer, binaryData text);
)sql";

/// A launch at `start` by thread `tid`, and its kernel 100 ns later, 50 ns long.
inline std::string launch(std::int64_t pid, std::int64_t tid, std::int64_t correlation, std::int64_t start,
                          int device = 0)
{
    const auto text = [](std::int64_t value) { return std::to_string(value); };
    return "insert into CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, "
           "nameId) "
           "values (" +
           text(start) + ", " + text(start + 10) + ", 0, " + globalTid(pid, tid) + ", " + text(correlation) +
           ", 1);"
           "insert into CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
           "correlationId, "
           "globalPid, demangledName, shortName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, "
           "blockZ, staticSharedMemory, dynamicSharedMemory, localMemoryPerThread) values (" +
           text(start + 100) + ", " + text(start + 150) + ", " + text(device) + ", 1, 7, " +
           text(correlation) + ", " + globalPid(pid) + ", 2, 3, 40, 4, 5, 6, 128, 2, 1, 1024, 2048, 16);";
}

} // namespace tilescope::exchange
