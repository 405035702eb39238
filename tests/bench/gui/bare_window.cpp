// The reference of a start: a bare Qt window with one plot. Prints the monotonic clock in nanoseconds when it is
// painted, and exits.

#include <QApplication>
#include <QMainWindow>

#include <qcustomplot.h>

#include <chrono>
#include <cstdio>

int main(int argc, char** argv)
{
    QApplication application(argc, argv);
    QMainWindow window;
    auto& plot = *new QCustomPlot(&window);
    plot.addGraph();
    for (int i = 0; i < 100; ++i)
        plot.graph(0)->addData(i, i * (100 - i));
    plot.rescaleAxes();
    window.setCentralWidget(&plot);
    window.resize(1280, 800);
    window.show();
    QCoreApplication::processEvents();
    QGuiApplication::sync();
    const auto now = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    std::printf("%lld\n", static_cast<long long>(now));
    return 0;
}
