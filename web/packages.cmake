# The pages' sources beside their packages from npm, in the build directory: packages are looked for
# from where a source is upwards, and the source tree is only read. Sets
#   packages      the directory
#   page_sources  the files in it, all copies
#   installed     the file that tells that the packages are there
#   no_packages   what keeps them from being there; empty if they are
set(packages ${CMAKE_CURRENT_BINARY_DIR}/npm)
set(installed ${packages}/node_modules/.waggle)
set(folders report playground recorded tests)
list(TRANSFORM folders APPEND /* OUTPUT_VARIABLE patterns)
file(GLOB_RECURSE names CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${patterns})
list(APPEND names .npmrc package.json package-lock.json tsconfig.json vite.config.ts vitest.config.ts)
foreach(name ${names})
  configure_file(${name} ${packages}/${name} COPYONLY NO_SOURCE_PERMISSIONS)
endforeach()
list(TRANSFORM names PREPEND ${packages}/ OUTPUT_VARIABLE page_sources)
list(TRANSFORM patterns PREPEND ${packages}/)
file(GLOB_RECURSE gone ${patterns})
list(REMOVE_ITEM gone ${page_sources})
foreach(file ${gone})
  file(REMOVE ${file})
endforeach()

set(no_packages "")
find_program(NPM npm)
find_program(NODE NAMES node nodejs)
if(NOT NPM OR NOT NODE)
  set(no_packages "npm was not found. Install it and configure again")
  return()
endif()
execute_process(COMMAND ${NODE} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REGEX REPLACE "^v" "" version "${version}")
if(version VERSION_LESS 18)
  set(no_packages "node ${version} is older than 18. Install a newer one and configure again")
  return()
endif()

# Done here and not while building, since what is built depends on whether it works. npm begins by
# removing node_modules, and with it the file that tells of an earlier success.
file(SHA256 ${packages}/package-lock.json wanted)
set(present "")
if(EXISTS ${installed})
  file(READ ${installed} present)
endif()
if(NOT present STREQUAL wanted)
  message(STATUS "Installing the pages' packages")
  execute_process(
    COMMAND ${NPM} ci --loglevel=error --prefer-offline --fetch-retries=1
            --fetch-retry-mintimeout=1000 --fetch-timeout=60000
    WORKING_DIRECTORY ${packages}
    RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    file(REMOVE ${installed})
    file(WRITE ${packages}/npm.log "${output}")
    string(REGEX MATCH "code [A-Z0-9_]+" code "${output}")
    if(NOT code)
      set(code "code ${failed}")
    endif()
    string(CONCAT no_packages "npm ci failed with ${code} (details in web/npm/npm.log of the build "
      "directory). Configure again where npm's registry can be reached")
  else()
    file(REMOVE ${packages}/npm.log)
    file(WRITE ${installed} ${wanted})
  endif()
endif()
