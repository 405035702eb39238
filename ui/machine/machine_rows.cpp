#include "ui/machine/machine_rows.h"

#include "ui/kit/number_text.h"

#include <map>

namespace tilescope::ui {

namespace {

QString valueOf(const EnvironmentEntry& entry)
{
    const QString value = QString::fromStdString(entry.value);
    bool number = false;
    const double bytes = value.toDouble(&number);
    if (number && entry.unit == "B")
        return byteText(bytes);
    if (number && entry.key.starts_with("contents."))
        return wholeNumber(value.toLongLong());
    return entry.unit.empty() ? value : withUnit(value, entry.unit.c_str());
}

} // namespace

TableData factRows(const std::vector<query::EnvironmentTable>& runs, const QStringList& titles)
{
    TableData data;
    TableColumn key;
    key.title = QStringLiteral("Fact");
    key.width = 190;
    key.dim = true;
    data.columns.push_back(std::move(key));
    for (const QString& title : titles) {
        TableColumn column;
        column.title = title;
        column.sentence = true;
        data.columns.push_back(std::move(column));
    }
    std::map<std::string, std::size_t> positions;
    for (std::size_t run = 0; run < runs.size(); ++run) {
        for (const EnvironmentEntry& entry : runs[run].rows) {
            if (entry.key == "spec")
                continue; // the run list shows it key by key
            const auto [position, isNew] = positions.emplace(entry.key, data.rows.size());
            if (isNew) {
                TableRow row;
                row.id = std::int64_t(data.rows.size());
                row.cells.resize(data.columns.size());
                row.cells[0].text = QString::fromStdString(entry.key);
                for (std::size_t c = 1; c < row.cells.size(); ++c)
                    row.cells[c].text = notMeasured();
                data.rows.push_back(std::move(row));
            }
            TableCell& cell = data.rows[position->second].cells[run + 1];
            cell.text = valueOf(entry);
            cell.exact =
                QString::fromStdString(entry.value) +
                (entry.unit.empty() ? QString() : QLatin1Char(' ') + QString::fromStdString(entry.unit));
        }
    }
    for (TableRow& row : data.rows) {
        bool differs = false;
        for (std::size_t c = 2; c < row.cells.size(); ++c)
            differs = differs || row.cells[c].text != row.cells[1].text;
        if (differs)
            for (std::size_t c = 1; c < row.cells.size(); ++c)
                row.cells[c].tone = Tone::Strong;
    }
    return data;
}

} // namespace tilescope::ui
