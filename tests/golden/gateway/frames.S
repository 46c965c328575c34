# Functions with each form of call frame information that the gateway distinguishes. `frames.elf` is made of it,
# and `frames.expected` says how readelf reads that:
#
#   gcc -shared -nostdlib -s -Wl,--build-id=sha1,-z,noseparate-code,-z,max-page-size=4096 -o frames.elf frames.S
#   LC_ALL=C readelf --debug-dump=frames-interp frames.elf > frames.expected

        .text
        .globl  ordinary, framed, realigned, outermost, by_register, saved_elsewhere, long, remembered
        .type   ordinary, @function
ordinary:                                # rsp-based throughout, rbp saved and restored
        .cfi_startproc
        push    %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        push    %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        sub     $0x18, %rsp
        .cfi_adjust_cfa_offset 0x18
        call    remembered@plt
        add     $0x18, %rsp
        .cfi_adjust_cfa_offset -0x18
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        pop     %rbp
        .cfi_adjust_cfa_offset -8        # and, as GCC has it, no .cfi_restore
        ret
        .cfi_endproc
        .size   ordinary, .-ordinary

        .type   framed, @function
framed:                                  # rbp-based
        .cfi_startproc
        push    %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        mov     %rsp, %rbp
        .cfi_def_cfa_register %rbp
        call    ordinary@plt
        pop     %rbp
        .cfi_restore %rbp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   framed, .-framed

        .type   realigned, @function
realigned:                               # CFA from r10, then as an expression, as GCC realigns a stack
        .cfi_startproc
        lea     8(%rsp), %r10
        .cfi_def_cfa %r10, 0
        and     $-32, %rsp
        push    -8(%r10)
        push    %rbp
        .cfi_escape 0x10,0x6,0x2,0x76,0  # rbp is stored at breg6 + 0
        mov     %rsp, %rbp
        push    %r10
        .cfi_escape 0xf,0x3,0x76,0x78,0x6  # CFA = *(rbp - 8)
        call    ordinary@plt
        pop     %r10
        .cfi_def_cfa %r10, 0
        pop     %rbp
        lea     -8(%r10), %rsp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   realigned, .-realigned

        .type   outermost, @function
outermost:
        .cfi_startproc
        .cfi_undefined %rip
        xor     %ebp, %ebp
        call    framed@plt
        hlt
        .cfi_endproc
        .size   outermost, .-outermost

        .type   by_register, @function
by_register:                             # rbp moved to another register, CFA + offset as a value
        .cfi_startproc
        mov     %rbp, %r11
        .cfi_register %rbp, %r11
        nop
        .cfi_val_offset %rbp, -32
        nop
        .cfi_same_value %rbp
        ret
        .cfi_endproc
        .size   by_register, .-by_register

        .type   saved_elsewhere, @function
saved_elsewhere:                         # the return address is not below the CFA
        .cfi_startproc
        pop     %rax
        .cfi_def_cfa_offset 0
        .cfi_register %rip, %rax
        push    %rax
        .cfi_def_cfa_offset 24
        .cfi_offset %rip, -24
        ret
        .cfi_endproc
        .size   saved_elsewhere, .-saved_elsewhere

        .type   remembered, @function
remembered:
        .cfi_startproc
        push    %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        .cfi_remember_state
        pop     %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        .cfi_restore_state
        pop     %rbp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   remembered, .-remembered

        .type   long, @function
long:                                    # every size of advance_loc
        .cfi_startproc
        sub     $0x100, %rsp
        .cfi_adjust_cfa_offset 0x100
        .skip   200, 0x90
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        .skip   3000, 0x90
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        add     $0x110, %rsp
        .cfi_adjust_cfa_offset -0x110
        ret
        .cfi_endproc
        .size   long, .-long

        .type   returns_from_signal, @function
        nop
returns_from_signal:
        .cfi_startproc
        .cfi_signal_frame
        .cfi_escape 0xf,0x4,0x77,0xa0,0x1,0x6
        mov     $15, %rax
        syscall
        .cfi_endproc
        .size   returns_from_signal, .-returns_from_signal

        .type   without_entry, @function
without_entry:
        push    %rbp
        mov     %rsp, %rbp
        call    ordinary@plt
        pop     %rbp
        ret
        .size   without_entry, .-without_entry

        .type   last, @function
last:
        .cfi_startproc
        ret
        .cfi_endproc
        .size   last, .-last
        .section .note.GNU-stack,"",@progbits
