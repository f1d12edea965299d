#pragma once

#include <waggle/options/results.h>
