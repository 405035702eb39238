#pragma once

#include <QString>
#include <QStringList>

namespace tilescope::ui {

/// The arguments of `tilescope record`.
struct RecordCommand {
    enum class Begin { AtOnce, Steps, Delay, Range };

    QString program; ///< a command line: `python train.py`
    QString host;    ///< where it runs; empty: this machine
    QString
        folder; ///< working directory of the program; on a host relative to the home folder, and may be empty
    QString
        file; ///< the recording; relative to the folder, or to the current one if the program runs on a host
    Begin begin = Begin::AtOnce;
    QString beginAt; ///< `10:12`, seconds, or the name of a range
    QString seconds; ///< the most that is recorded; empty: all
    bool modules = true;
    bool memory = true;
    bool ops = false;
    bool stacks = false;
    bool hostSamples = true;
    bool inside = false;      ///< samples of the instructions of kernels
    bool metrics = false;     ///< samples of how busy the GPU is inside
    bool allCalls = false;    ///< of CUDA, not only launches
    bool wholeGraphs = false; ///< replays of CUDA graphs as one kernel
    bool calibrates = false;
    bool yieldsToTorch = false;
    bool storesCommandLine = true;

    /// The words after `tilescope`.
    /// \throws Error  the program is not a command line
    QStringList arguments() const;
    /// The folder in which the command is run here.
    QString workingFolder() const;
    /// The command for a shell, which begins with `cd` if that folder is another one than `here`.
    /// \throws Error  as arguments()
    QString text(const QString& here) const;
    /// The recording with its folder.
    QString path() const;
};

} // namespace tilescope::ui
