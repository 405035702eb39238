#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::store {

/// Compiles each query of a connection once and lends it out. Compiling a query takes longer than reading the
/// few rows that a file has of a short run.
///
/// One thread. A loan must end before the cache is cleared, and the cache before its connection is closed.
class StatementCache {
    using IdleStatements = std::vector<std::unique_ptr<SQLite::Statement>>;

public:
    /// A query for the caller alone; reset and returned at the end. It keeps the bindings of earlier loans: bind
    /// every parameter.
    class Handle {
    public:
        Handle(std::unique_ptr<SQLite::Statement> statement, IdleStatements& idle)
            : statement_(std::move(statement)), idle_(idle)
        {
        }
        ~Handle()
        {
            statement_->tryReset();
            idle_.push_back(std::move(statement_));
        }
        Handle(const Handle&) = delete;
        Handle& operator=(const Handle&) = delete;
        SQLite::Statement& operator*() const { return *statement_; }
        SQLite::Statement* operator->() const { return statement_.get(); }

    private:
        std::unique_ptr<SQLite::Statement> statement_;
        IdleStatements& idle_;
    };

    /// \param sql  one of few texts: each is kept
    Handle get(SQLite::Database& database, std::string_view sql)
    {
        auto known = idleStatements_.find(sql);
        if (known == idleStatements_.end())
            known = idleStatements_.emplace(std::string(sql), IdleStatements()).first;
        IdleStatements& idle = known->second;
        if (idle.empty())
            return {std::make_unique<SQLite::Statement>(database, known->first), idle};
        std::unique_ptr<SQLite::Statement> statement = std::move(idle.back());
        idle.pop_back();
        return {std::move(statement), idle};
    }

    void clear() { idleStatements_.clear(); }

private:
    std::map<std::string, IdleStatements, std::less<>> idleStatements_;
};

} // namespace tilescope::store
