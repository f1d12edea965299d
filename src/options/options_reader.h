#pragma once

#include <waggle/options/reader.h>
