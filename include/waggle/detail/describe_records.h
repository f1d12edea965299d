#pragma once

#include <waggle/detail/describe_records.h>
