// The program: everything is in run_program, which tests can link.
#include "cli/program.hpp"

int main(int argc, char** argv) { return vramfit::cli::run_program(argc, argv); }
