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
    using Shelf = std::vector<std::unique_ptr<SQLite::Statement>>;

public:
    /// A query for the caller alone; reset and returned at the end. It keeps the bindings of earlier loans: bind
    /// every parameter.
    class Loan {
    public:
        Loan(std::unique_ptr<SQLite::Statement> statement, Shelf& shelf)
            : statement_(std::move(statement)), shelf_(shelf)
        {
        }
        ~Loan()
        {
            statement_->tryReset();
            shelf_.push_back(std::move(statement_));
        }
        Loan(const Loan&) = delete;
        Loan& operator=(const Loan&) = delete;
        SQLite::Statement& operator*() const { return *statement_; }
        SQLite::Statement* operator->() const { return statement_.get(); }

    private:
        std::unique_ptr<SQLite::Statement> statement_;
        Shelf& shelf_;
    };

    /// \param sql  one of few texts: each is kept
    Loan get(SQLite::Database& database, std::string_view sql)
    {
        auto known = shelves_.find(sql);
        if (known == shelves_.end())
            known = shelves_.emplace(std::string(sql), Shelf()).first;
        Shelf& shelf = known->second;
        if (shelf.empty())
            return {std::make_unique<SQLite::Statement>(database, known->first), shelf};
        std::unique_ptr<SQLite::Statement> statement = std::move(shelf.back());
        shelf.pop_back();
        return {std::move(statement), shelf};
    }

    void clear() { shelves_.clear(); }

private:
    std::map<std::string, Shelf, std::less<>> shelves_;
};

} // namespace tilescope::store
