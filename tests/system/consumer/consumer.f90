! consumer.f90 - a Fortran application: a context, and what it computes on, through iso_c_binding.
program consumer
  use, intrinsic :: iso_c_binding
  implicit none

  interface
    integer(c_int) function kaon_context_create(options, ctx) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: options
      type(c_ptr), intent(out) :: ctx
    end function
    subroutine kaon_context_destroy(ctx) bind(c)
      import :: c_ptr
      type(c_ptr), intent(inout) :: ctx
    end subroutine
    type(c_ptr) function kaon_version() bind(c)
      import :: c_ptr
    end function
    integer(c_int) function kaon_lattice_create(ctx, extents, boundary, lattice) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: ctx
      integer(c_int), intent(in) :: extents(4)
      integer(c_int), value :: boundary
      type(c_ptr), intent(out) :: lattice
    end function
    integer(c_int64_t) function kaon_lattice_volume(lattice) bind(c)
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: lattice
    end function
    subroutine kaon_lattice_destroy(lattice) bind(c)
      import :: c_ptr
      type(c_ptr), intent(inout) :: lattice
    end subroutine
  end interface

  type(c_ptr) :: ctx, lattice
  character(kind=c_char), pointer :: letters(:)
  integer :: n

  if (kaon_context_create(c_null_ptr, ctx) /= 0) error stop "no context"
  if (kaon_lattice_create(ctx, [4, 4, 4, 8], 0, lattice) /= 0) error stop "no lattice"
  call c_f_pointer(kaon_version(), letters, [32])
  n = 1
  do while (letters(n) /= c_null_char)
    n = n + 1
  end do
  print '(*(g0))', "kaon ", letters(1:n-1), " from Fortran: ", kaon_lattice_volume(lattice), " sites"
  call kaon_lattice_destroy(lattice)
  call kaon_context_destroy(ctx)
end program
