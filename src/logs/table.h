#pragma once

#include <waggle/logs/table.h>
