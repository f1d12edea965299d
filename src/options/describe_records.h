#pragma once

#include <waggle/options/records.h>
