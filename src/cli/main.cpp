// The program: everything is in run_program, which tests can link.
#include "cli/heap.hpp"
#include "cli/program.hpp"

int main(int argc, char** argv) {
    vramfit::cli::prepare_heap();
    return vramfit::cli::run_program(argc, argv);
}
