#pragma once

namespace waggle {

/// For a program, before it works: OpenBLAS, if that is below, leaves threads to waggle, so that
/// results do not depend on how many the machine has, and uses the vectors of a processor that it
/// does not know. Both are settings of the whole process, so the library leaves them alone.
void prepare_process();

}  // namespace waggle
