#pragma once

#include <waggle/files/atomic_file.h>
