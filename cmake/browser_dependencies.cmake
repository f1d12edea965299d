# What the core needs when it is compiled by Emscripten: headers only, no library, no threads.
# The system's own /usr/include must stay off Emscripten's path, so what is used of it is linked
# into one directory of the build tree.
find_path(EIGEN3_INCLUDE_DIR Eigen/Core PATHS /usr/include/eigen3 /usr/local/include/eigen3
          REQUIRED
          NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
set(headers ${CMAKE_CURRENT_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${headers})
foreach(name boost date fmt nlohmann Random123)
  find_path(${name}_PARENT ${name} PATHS /usr/include /usr/local/include REQUIRED
            NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
  file(CREATE_LINK ${${name}_PARENT}/${name} ${headers}/${name} SYMBOLIC)
endforeach()
# Eigen's SSE2 includes MMX, which it does not use and Emscripten does not have.
file(CONFIGURE OUTPUT ${headers}/mmintrin.h CONTENT "")  # untouched if it is there
set(RANDOM123_INCLUDE_DIR ${headers})
set(DATE_INCLUDE_DIR ${headers})
foreach(target Eigen3::Eigen fmt::fmt-header-only Boost::headers Threads::Threads
               nlohmann_json::nlohmann_json)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
endforeach()
target_include_directories(Eigen3::Eigen INTERFACE ${headers} ${EIGEN3_INCLUDE_DIR})
target_include_directories(fmt::fmt-header-only INTERFACE ${headers})
target_compile_definitions(fmt::fmt-header-only INTERFACE FMT_HEADER_ONLY=1)
target_include_directories(Boost::headers INTERFACE ${headers})
target_include_directories(nlohmann_json::nlohmann_json INTERFACE ${headers})
