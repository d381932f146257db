// Uses the installed library: an inline type and a function that has to be linked.
#include <iostream>

#include <vramfit/base/bytes.hpp>
#include <vramfit/base/dtype.hpp>

int main() {
    const vramfit::Bytes bytes = vramfit::size_of(vramfit::kMiB, vramfit::DType::bfloat16);
    std::cout << "1048576 bfloat16 take " << bytes.count << " bytes\n";
    return bytes == vramfit::Bytes{2 * vramfit::kMiB} ? 0 : 1;
}
