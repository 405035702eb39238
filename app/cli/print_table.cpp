#include "app/cli/print_table.h"

#include <iostream>

namespace tilescope::cli {

void printTable(const exchange::Table& table, const std::string& format)
{
    if (format == "json")
        writeJson(std::cout, table);
    else if (format == "csv")
        writeCsv(std::cout, table);
    else
        writeTerminal(std::cout, table, exchange::styleOfStandardOutput());
}

} // namespace tilescope::cli
