// Traces of the real libraries in compact form, and their comparison with the program's own windows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vramfit::test {

/// One window of a trace: requested, allocated and reserved bytes.
struct TracedWindow {
    std::string name;
    std::int64_t requested_peak = 0, requested_end = 0;
    std::int64_t allocated_peak = 0, allocated_end = 0;
    std::int64_t reserved_peak = 0, reserved_end = 0;
};

struct Trace {
    std::string name;
    std::string job;      ///< text of the job file
    std::string stack;    ///< its name
    std::string refusal;  ///< the library's message; empty for jobs that ran
    std::string oom_window;
    std::int64_t retries = 0;  ///< times the allocator gave its cache back and asked again
    bool distributed = false;  ///< one of several processes
    std::vector<TracedWindow> windows;
};

/// All traces of tests/data/traces.jsonl.
const std::vector<Trace>& traces();

/// The traces of a file of tests/data.
std::vector<Trace> traces_of(const std::string& file);

/// How a prediction compares with a trace.
struct Comparison {
    bool unsupported = false;  ///< the program refuses the job with exit status 3
    bool refused = false;      ///< ... with exit status 2
    std::string message;
    std::size_t windows = 0;
    std::size_t requested_equal = 0;   ///< peak and end equal to the byte
    std::size_t allocated_close = 0;   ///< peak and end within 0.1 %
    std::size_t allocated_equal = 0;   ///< peak and end equal to the byte
    std::size_t reserved_equal = 0;    ///< peak and end equal to the byte
    bool ending_equal = false;         ///< completes, completes after a retry, or out of memory
    double allocated_worst = 0;        ///< the largest difference of a window's peak, as a share of it
    double reserved_peak_percent = 0;  ///< the run's highest reserved bytes, predicted over traced, less 100
    bool outcome_equal = false;        ///< both complete, or both run out of memory in the same window
    std::vector<std::string> differing;
};

Comparison compare(const Trace& trace);

}  // namespace vramfit::test
