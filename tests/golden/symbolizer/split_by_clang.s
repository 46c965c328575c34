# clang-14 -S -O2 -g -gdwarf-5 -gsplit-dwarf -gno-pubnames -fno-addrsig -fdebug-compilation-dir=/build -fno-ident
# split_by_clang.c, without comments. Its skeleton names strings, addresses and ranges by index.
	.text
	.file	"split_by_clang.c"
	.globl	work
	.p2align	4, 0x90
	.type	work,@function
work:
.Lfunc_begin0:
	.file	0 "/build" "split_by_clang.c" md5 0x87045d2f5225f942e4bfe81eac3f953d
	.loc	0 3 0
	.cfi_startproc
	.loc	0 5 5 prologue_end
	testl	%edi, %edi
	je	.LBB0_1
.Ltmp0:
	leal	-1(%rdi), %eax
	movl	%edi, %r8d
	andl	$3, %r8d
	cmpl	$3, %eax
	jae	.LBB0_4
.Ltmp1:
	.loc	0 0 5 is_stmt 0
	xorl	%eax, %eax
	jmp	.LBB0_6
.Ltmp2:
.LBB0_1:
	xorl	%eax, %eax
	.loc	0 7 5 is_stmt 1
	retq
.Ltmp3:
.LBB0_4:
	.loc	0 5 5
	movl	%edi, %edx
	andl	$-4, %edx
	xorl	%eax, %eax
.Ltmp4:
	.p2align	4, 0x90
.LBB0_5:
	.loc	0 1 75
	leal	-1(%rdi), %esi
	imull	%esi, %esi
.Ltmp5:
	.loc	0 1 75 is_stmt 0
	movl	%eax, %ecx
	imull	%ecx, %ecx
.Ltmp6:
	.loc	0 6 26 is_stmt 1
	addl	%esi, %ecx
	addl	$2, %ecx
	.loc	0 6 13 is_stmt 0
	xorl	%eax, %ecx
.Ltmp7:
	.loc	0 1 75 is_stmt 1
	leal	-2(%rdi), %eax
.Ltmp8:
	imull	%eax, %eax
.Ltmp9:
	.loc	0 1 75 is_stmt 0
	movl	%ecx, %esi
	imull	%esi, %esi
.Ltmp10:
	.loc	0 6 26 is_stmt 1
	addl	%esi, %eax
	addl	$2, %eax
	.loc	0 6 13 is_stmt 0
	xorl	%ecx, %eax
.Ltmp11:
	.loc	0 1 75 is_stmt 1
	leal	-3(%rdi), %ecx
.Ltmp12:
	imull	%ecx, %ecx
.Ltmp13:
	.loc	0 1 75 is_stmt 0
	movl	%eax, %esi
	imull	%esi, %esi
.Ltmp14:
	.loc	0 6 26 is_stmt 1
	addl	%esi, %ecx
	addl	$2, %ecx
	.loc	0 6 13 is_stmt 0
	xorl	%eax, %ecx
.Ltmp15:
	.loc	0 5 13 is_stmt 1
	addl	$-4, %edi
.Ltmp16:
	.loc	0 1 75
	movl	%edi, %eax
.Ltmp17:
	imull	%eax, %eax
.Ltmp18:
	.loc	0 1 75 is_stmt 0
	movl	%ecx, %esi
	imull	%esi, %esi
.Ltmp19:
	.loc	0 6 26 is_stmt 1
	addl	%esi, %eax
	addl	$2, %eax
	.loc	0 6 13 is_stmt 0
	xorl	%ecx, %eax
.Ltmp20:
	.loc	0 5 5 is_stmt 1
	addl	$-4, %edx
	jne	.LBB0_5
.Ltmp21:
.LBB0_6:
	testl	%r8d, %r8d
	je	.LBB0_9
.Ltmp22:
	addl	$-1, %edi
.Ltmp23:
	.p2align	4, 0x90
.LBB0_8:
	.loc	0 1 75
	movl	%edi, %ecx
	imull	%ecx, %ecx
.Ltmp24:
	.loc	0 1 75 is_stmt 0
	movl	%eax, %edx
	imull	%edx, %edx
.Ltmp25:
	.loc	0 6 26 is_stmt 1
	addl	%edx, %ecx
	addl	$2, %ecx
	.loc	0 6 13 is_stmt 0
	xorl	%ecx, %eax
.Ltmp26:
	.loc	0 5 5 is_stmt 1
	addl	$-1, %edi
.Ltmp27:
	addl	$-1, %r8d
	jne	.LBB0_8
.Ltmp28:
.LBB0_9:
	.loc	0 7 5
	retq
.Ltmp29:
.Lfunc_end0:
	.size	work, .Lfunc_end0-work
	.cfi_endproc
	.section	.text.other,"ax",@progbits
	.globl	rest
	.p2align	4, 0x90
	.type	rest,@function
rest:
.Lfunc_begin1:
	.loc	0 9 0
	.cfi_startproc
	.loc	0 1 75 prologue_end
	imull	%edi, %edi
.Ltmp30:
	.loc	0 1 79 is_stmt 0
	leal	1(%rdi), %ecx
	movl	$2863311531, %eax
.Ltmp31:
	.loc	0 9 86 is_stmt 1
	imulq	%rcx, %rax
	shrq	$33, %rax
	.loc	0 9 69 is_stmt 0
	retq
.Ltmp32:
.Lfunc_end1:
	.size	rest, .Lfunc_end1-rest
	.cfi_endproc
	.text
	.globl	main
	.p2align	4, 0x90
	.type	main,@function
main:
.Lfunc_begin2:
	.loc	0 10 0 is_stmt 1
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	pushq	%rbx
	.cfi_def_cfa_offset 24
	pushq	%rax
	.cfi_def_cfa_offset 32
	.cfi_offset %rbx, -24
	.cfi_offset %rbp, -16
	movl	%edi, %ebx
.Ltmp33:
	.loc	0 10 43 prologue_end
	callq	work
.Ltmp34:
	movl	%eax, %ebp
	.loc	0 10 56 is_stmt 0
	movl	%ebx, %edi
	callq	rest
.Ltmp35:
	.loc	0 10 54
	addl	%ebp, %eax
	.loc	0 10 68
	andl	$1, %eax
	.loc	0 10 35
	addq	$8, %rsp
	.cfi_def_cfa_offset 24
	popq	%rbx
.Ltmp36:
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	retq
.Ltmp37:
.Lfunc_end2:
	.size	main, .Lfunc_end2-main
	.cfi_endproc
	.section	.debug_loclists.dwo,"e",@progbits
	.long	.Ldebug_list_header_end0-.Ldebug_list_header_start0
.Ldebug_list_header_start0:
	.short	5
	.byte	8
	.byte	0
	.long	8
.Lloclists_table_base0:
	.long	.Ldebug_loc0-.Lloclists_table_base0
	.long	.Ldebug_loc1-.Lloclists_table_base0
	.long	.Ldebug_loc2-.Lloclists_table_base0
	.long	.Ldebug_loc3-.Lloclists_table_base0
	.long	.Ldebug_loc4-.Lloclists_table_base0
	.long	.Ldebug_loc5-.Lloclists_table_base0
	.long	.Ldebug_loc6-.Lloclists_table_base0
	.long	.Ldebug_loc7-.Lloclists_table_base0
.Ldebug_loc0:
	.byte	1
	.byte	0
	.byte	4
	.uleb128 .Lfunc_begin0-.Lfunc_begin0
	.uleb128 .Ltmp7-.Lfunc_begin0
	.byte	12
	.byte	117
	.byte	0
	.byte	16
	.byte	255
	.byte	255
	.byte	255
	.byte	255
	.byte	15
	.byte	26
	.byte	49
	.byte	28
	.byte	159
	.byte	4
	.uleb128 .Ltmp7-.Lfunc_begin0
	.uleb128 .Ltmp11-.Lfunc_begin0
	.byte	14
	.byte	117
	.byte	0
	.byte	16
	.byte	255
	.byte	255
	.byte	255
	.byte	255
	.byte	15
	.byte	26
	.byte	49
	.byte	28
	.byte	49
	.byte	28
	.byte	159
	.byte	4
	.uleb128 .Ltmp11-.Lfunc_begin0
	.uleb128 .Ltmp15-.Lfunc_begin0
	.byte	14
	.byte	117
	.byte	0
	.byte	16
	.byte	255
	.byte	255
	.byte	255
	.byte	255
	.byte	15
	.byte	26
	.byte	50
	.byte	28
	.byte	49
	.byte	28
	.byte	159
	.byte	4
	.uleb128 .Ltmp15-.Lfunc_begin0
	.uleb128 .Ltmp16-.Lfunc_begin0
	.byte	14
	.byte	117
	.byte	0
	.byte	16
	.byte	255
	.byte	255
	.byte	255
	.byte	255
	.byte	15
	.byte	26
	.byte	51
	.byte	28
	.byte	49
	.byte	28
	.byte	159
	.byte	4
	.uleb128 .Ltmp20-.Lfunc_begin0
	.uleb128 .Ltmp23-.Lfunc_begin0
	.byte	12
	.byte	117
	.byte	0
	.byte	16
	.byte	255
	.byte	255
	.byte	255
	.byte	255
	.byte	15
	.byte	26
	.byte	49
	.byte	28
	.byte	159
	.byte	4
	.uleb128 .Ltmp26-.Lfunc_begin0
	.uleb128 .Ltmp27-.Lfunc_begin0
	.byte	12
	.byte	117
	.byte	0
	.byte	16
	.byte	255
	.byte	255
	.byte	255
	.byte	255
	.byte	15
	.byte	26
	.byte	49
	.byte	28
	.byte	159
	.byte	0
.Ldebug_loc1:
	.byte	1
	.byte	0
	.byte	4
	.uleb128 .Lfunc_begin0-.Lfunc_begin0
	.uleb128 .Ltmp4-.Lfunc_begin0
	.byte	3
	.byte	17
	.byte	0
	.byte	159
	.byte	4
	.uleb128 .Ltmp4-.Lfunc_begin0
	.uleb128 .Ltmp7-.Lfunc_begin0
	.byte	1
	.byte	80
	.byte	4
	.uleb128 .Ltmp7-.Lfunc_begin0
	.uleb128 .Ltmp11-.Lfunc_begin0
	.byte	1
	.byte	82
	.byte	4
	.uleb128 .Ltmp11-.Lfunc_begin0
	.uleb128 .Ltmp15-.Lfunc_begin0
	.byte	1
	.byte	80
	.byte	4
	.uleb128 .Ltmp15-.Lfunc_begin0
	.uleb128 .Ltmp20-.Lfunc_begin0
	.byte	1
	.byte	82
	.byte	4
	.uleb128 .Ltmp20-.Lfunc_begin0
	.uleb128 .Ltmp21-.Lfunc_begin0
	.byte	1
	.byte	80
	.byte	4
	.uleb128 .Ltmp23-.Lfunc_begin0
	.uleb128 .Ltmp28-.Lfunc_begin0
	.byte	1
	.byte	80
	.byte	0
.Ldebug_loc2:
	.byte	1
	.byte	0
	.byte	4
	.uleb128 .Ltmp4-.Lfunc_begin0
	.uleb128 .Ltmp7-.Lfunc_begin0
	.byte	12
	.byte	117
	.byte	0
	.byte	16
	.byte	255
	.byte	255
	.byte	255
	.byte	255
	.byte	15
	.byte	26
	.byte	49
	.byte	28
	.byte	159
	.byte	4
	.uleb128 .Ltmp7-.Lfunc_begin0
	.uleb128 .Ltmp11-.Lfunc_begin0
	.byte	12
	.byte	117
	.byte	0
	.byte	16
	.byte	255
	.byte	255
	.byte	255
	.byte	255
	.byte	15
	.byte	26
	.byte	50
	.byte	28
	.byte	159
	.byte	4
	.uleb128 .Ltmp11-.Lfunc_begin0
	.uleb128 .Ltmp16-.Lfunc_begin0
	.byte	12
	.byte	117
	.byte	0
	.byte	16
	.byte	255
	.byte	255
	.byte	255
	.byte	255
	.byte	15
	.byte	26
	.byte	51
	.byte	28
	.byte	159
	.byte	4
	.uleb128 .Ltmp16-.Lfunc_begin0
	.uleb128 .Ltmp21-.Lfunc_begin0
	.byte	1
	.byte	85
	.byte	4
	.uleb128 .Ltmp23-.Lfunc_begin0
	.uleb128 .Ltmp27-.Lfunc_begin0
	.byte	1
	.byte	85
	.byte	0
.Ldebug_loc3:
	.byte	1
	.byte	0
	.byte	4
	.uleb128 .Ltmp5-.Lfunc_begin0
	.uleb128 .Ltmp8-.Lfunc_begin0
	.byte	1
	.byte	80
	.byte	4
	.uleb128 .Ltmp9-.Lfunc_begin0
	.uleb128 .Ltmp12-.Lfunc_begin0
	.byte	1
	.byte	82
	.byte	4
	.uleb128 .Ltmp13-.Lfunc_begin0
	.uleb128 .Ltmp17-.Lfunc_begin0
	.byte	1
	.byte	80
	.byte	4
	.uleb128 .Ltmp18-.Lfunc_begin0
	.uleb128 .Ltmp21-.Lfunc_begin0
	.byte	1
	.byte	82
	.byte	4
	.uleb128 .Ltmp24-.Lfunc_begin0
	.uleb128 .Ltmp26-.Lfunc_begin0
	.byte	1
	.byte	80
	.byte	0
.Ldebug_loc4:
	.byte	1
	.byte	1
	.byte	4
	.uleb128 .Lfunc_begin1-.Lfunc_begin1
	.uleb128 .Ltmp30-.Lfunc_begin1
	.byte	1
	.byte	85
	.byte	4
	.uleb128 .Ltmp30-.Lfunc_begin1
	.uleb128 .Lfunc_end1-.Lfunc_begin1
	.byte	4
	.byte	163
	.byte	1
	.byte	85
	.byte	159
	.byte	0
.Ldebug_loc5:
	.byte	3
	.byte	1
	.uleb128 .Ltmp30-.Lfunc_begin1
	.byte	1
	.byte	85
	.byte	0
.Ldebug_loc6:
	.byte	1
	.byte	0
	.byte	4
	.uleb128 .Lfunc_begin2-.Lfunc_begin0
	.uleb128 .Ltmp34-.Lfunc_begin0
	.byte	1
	.byte	85
	.byte	4
	.uleb128 .Ltmp34-.Lfunc_begin0
	.uleb128 .Ltmp36-.Lfunc_begin0
	.byte	1
	.byte	83
	.byte	4
	.uleb128 .Ltmp36-.Lfunc_begin0
	.uleb128 .Lfunc_end2-.Lfunc_begin0
	.byte	4
	.byte	163
	.byte	1
	.byte	85
	.byte	159
	.byte	0
.Ldebug_loc7:
	.byte	1
	.byte	0
	.byte	4
	.uleb128 .Lfunc_begin2-.Lfunc_begin0
	.uleb128 .Ltmp34-.Lfunc_begin0
	.byte	1
	.byte	84
	.byte	4
	.uleb128 .Ltmp34-.Lfunc_begin0
	.uleb128 .Lfunc_end2-.Lfunc_begin0
	.byte	4
	.byte	163
	.byte	1
	.byte	84
	.byte	159
	.byte	0
.Ldebug_list_header_end0:
	.section	.debug_abbrev,"",@progbits
	.byte	1
	.byte	74
	.byte	0
	.byte	16
	.byte	23
	.byte	114
	.byte	23
	.byte	27
	.byte	37
	.byte	118
	.byte	37
	.byte	17
	.byte	1
	.byte	85
	.byte	35
	.byte	115
	.byte	23
	.byte	116
	.byte	23
	.byte	0
	.byte	0
	.byte	0
	.section	.debug_info,"",@progbits
.Lcu_begin0:
	.long	.Ldebug_info_end0-.Ldebug_info_start0
.Ldebug_info_start0:
	.short	5
	.byte	4
	.byte	8
	.long	.debug_abbrev
	.quad	-9116055521724721951
	.byte	1
	.long	.Lline_table_start0
	.long	.Lstr_offsets_base0
	.byte	0
	.byte	1
	.quad	0
	.byte	0
	.long	.Laddr_table_base0
	.long	.Lrnglists_table_base0
.Ldebug_info_end0:
	.section	.debug_rnglists,"",@progbits
	.long	.Ldebug_list_header_end1-.Ldebug_list_header_start1
.Ldebug_list_header_start1:
	.short	5
	.byte	8
	.byte	0
	.long	1
.Lrnglists_table_base0:
	.long	.Ldebug_ranges2-.Lrnglists_table_base0
.Ldebug_ranges2:
	.byte	1
	.byte	0
	.byte	4
	.uleb128 .Lfunc_begin0-.Lfunc_begin0
	.uleb128 .Lfunc_end0-.Lfunc_begin0
	.byte	4
	.uleb128 .Lfunc_begin2-.Lfunc_begin0
	.uleb128 .Lfunc_end2-.Lfunc_begin0
	.byte	3
	.byte	1
	.uleb128 .Lfunc_end1-.Lfunc_begin1
	.byte	0
.Ldebug_list_header_end1:
	.section	.debug_str_offsets,"",@progbits
	.long	12
	.short	5
	.short	0
.Lstr_offsets_base0:
	.section	.debug_str,"MS",@progbits,1
.Lskel_string0:
	.asciz	"/build"
.Lskel_string1:
	.asciz	"split_by_clang.dwo"
	.section	.debug_str_offsets,"",@progbits
	.long	.Lskel_string0
	.long	.Lskel_string1
	.section	.debug_str_offsets.dwo,"e",@progbits
	.long	60
	.short	5
	.short	0
	.section	.debug_str.dwo,"eMS",@progbits,1
.Linfo_string0:
	.asciz	"square"
.Linfo_string1:
	.asciz	"int"
.Linfo_string2:
	.asciz	"x"
.Linfo_string3:
	.asciz	"work"
.Linfo_string4:
	.asciz	"rest"
.Linfo_string5:
	.asciz	"main"
.Linfo_string6:
	.asciz	"n"
.Linfo_string7:
	.asciz	"sum"
.Linfo_string8:
	.asciz	"argc"
.Linfo_string9:
	.asciz	"argv"
.Linfo_string10:
	.asciz	"char"
.Linfo_string11:
	.byte	0
.Linfo_string12:
	.asciz	"split_by_clang.c"
.Linfo_string13:
	.asciz	"split_by_clang.dwo"
	.section	.debug_str_offsets.dwo,"e",@progbits
	.long	0
	.long	7
	.long	11
	.long	13
	.long	18
	.long	23
	.long	28
	.long	30
	.long	34
	.long	39
	.long	44
	.long	49
	.long	50
	.long	67
	.section	.debug_info.dwo,"e",@progbits
	.long	.Ldebug_info_dwo_end0-.Ldebug_info_dwo_start0
.Ldebug_info_dwo_start0:
	.short	5
	.byte	5
	.byte	8
	.long	0
	.quad	-9116055521724721951
	.byte	1
	.byte	11
	.short	12
	.byte	12
	.byte	13
	.byte	2
	.byte	0
	.byte	0
	.byte	1
	.long	43
	.byte	3
	.byte	2
	.byte	0
	.byte	1
	.long	43
	.byte	0
	.byte	4
	.byte	1
	.byte	5
	.byte	4
	.byte	5
	.byte	0
	.long	.Lfunc_end0-.Lfunc_begin0
	.byte	1
	.byte	87
	.byte	3
	.byte	0
	.byte	2
	.long	43
	.byte	6
	.byte	0
	.byte	6
	.byte	0
	.byte	2
	.long	43
	.byte	7
	.byte	1
	.byte	7
	.byte	0
	.byte	4
	.long	43
	.byte	8
	.long	26
	.byte	0
	.byte	0
	.byte	6
	.byte	16
	.byte	9
	.byte	2
	.long	34
	.byte	0
	.byte	8
	.long	26
	.byte	1
	.byte	0
	.byte	6
	.byte	28
	.byte	9
	.byte	3
	.long	34
	.byte	0
	.byte	0
	.byte	5
	.byte	1
	.long	.Lfunc_end1-.Lfunc_begin1
	.byte	1
	.byte	87
	.byte	4
	.byte	0
	.byte	9
	.long	43
	.byte	6
	.byte	4
	.byte	6
	.byte	0
	.byte	9
	.long	43
	.byte	10
	.long	26
	.byte	1
	.long	.Ltmp31-.Lfunc_begin1
	.byte	0
	.byte	9
	.byte	76
	.byte	9
	.byte	5
	.long	34
	.byte	0
	.byte	0
	.byte	5
	.byte	2
	.long	.Lfunc_end2-.Lfunc_begin2
	.byte	1
	.byte	87
	.byte	5
	.byte	0
	.byte	10
	.long	43
	.byte	6
	.byte	6
	.byte	8
	.byte	0
	.byte	10
	.long	43
	.byte	6
	.byte	7
	.byte	9
	.byte	0
	.byte	10
	.long	219
	.byte	11
	.long	47
	.byte	3
	.byte	12
	.byte	1
	.byte	85
	.byte	3
	.byte	163
	.byte	1
	.byte	85
	.byte	0
	.byte	11
	.long	113
	.byte	4
	.byte	12
	.byte	1
	.byte	85
	.byte	2
	.byte	115
	.byte	0
	.byte	0
	.byte	0
	.byte	13
	.long	224
	.byte	13
	.long	229
	.byte	4
	.byte	10
	.byte	6
	.byte	1
	.byte	0
.Ldebug_info_dwo_end0:
	.section	.debug_abbrev.dwo,"e",@progbits
	.byte	1
	.byte	17
	.byte	1
	.byte	37
	.byte	37
	.byte	19
	.byte	5
	.byte	3
	.byte	37
	.byte	118
	.byte	37
	.byte	0
	.byte	0
	.byte	2
	.byte	46
	.byte	1
	.byte	3
	.byte	37
	.byte	58
	.byte	11
	.byte	59
	.byte	11
	.byte	39
	.byte	25
	.byte	73
	.byte	19
	.byte	32
	.byte	33
	.byte	1
	.byte	0
	.byte	0
	.byte	3
	.byte	5
	.byte	0
	.byte	3
	.byte	37
	.byte	58
	.byte	11
	.byte	59
	.byte	11
	.byte	73
	.byte	19
	.byte	0
	.byte	0
	.byte	4
	.byte	36
	.byte	0
	.byte	3
	.byte	37
	.byte	62
	.byte	11
	.byte	11
	.byte	11
	.byte	0
	.byte	0
	.byte	5
	.byte	46
	.byte	1
	.byte	17
	.byte	27
	.byte	18
	.byte	6
	.byte	64
	.byte	24
	.byte	122
	.byte	25
	.byte	3
	.byte	37
	.byte	58
	.byte	11
	.byte	59
	.byte	11
	.byte	39
	.byte	25
	.byte	73
	.byte	19
	.byte	63
	.byte	25
	.byte	0
	.byte	0
	.byte	6
	.byte	5
	.byte	0
	.byte	2
	.byte	34
	.byte	3
	.byte	37
	.byte	58
	.byte	11
	.byte	59
	.byte	11
	.byte	73
	.byte	19
	.byte	0
	.byte	0
	.byte	7
	.byte	52
	.byte	0
	.byte	2
	.byte	34
	.byte	3
	.byte	37
	.byte	58
	.byte	11
	.byte	59
	.byte	11
	.byte	73
	.byte	19
	.byte	0
	.byte	0
	.byte	8
	.byte	29
	.byte	1
	.byte	49
	.byte	19
	.byte	85
	.byte	35
	.byte	88
	.byte	11
	.byte	89
	.byte	11
	.byte	87
	.byte	11
	.byte	0
	.byte	0
	.byte	9
	.byte	5
	.byte	0
	.byte	2
	.byte	34
	.byte	49
	.byte	19
	.byte	0
	.byte	0
	.byte	10
	.byte	29
	.byte	1
	.byte	49
	.byte	19
	.byte	17
	.byte	27
	.byte	18
	.byte	6
	.byte	88
	.byte	11
	.byte	89
	.byte	11
	.byte	87
	.byte	11
	.byte	0
	.byte	0
	.byte	11
	.byte	72
	.byte	1
	.byte	127
	.byte	19
	.byte	125
	.byte	27
	.byte	0
	.byte	0
	.byte	12
	.byte	73
	.byte	0
	.byte	2
	.byte	24
	.byte	126
	.byte	24
	.byte	0
	.byte	0
	.byte	13
	.byte	15
	.byte	0
	.byte	73
	.byte	19
	.byte	0
	.byte	0
	.byte	0
	.section	.debug_rnglists.dwo,"e",@progbits
	.long	.Ldebug_list_header_end2-.Ldebug_list_header_start2
.Ldebug_list_header_start2:
	.short	5
	.byte	8
	.byte	0
	.long	2
.Lrnglists_dwo_table_base0:
	.long	.Ldebug_ranges0-.Lrnglists_dwo_table_base0
	.long	.Ldebug_ranges1-.Lrnglists_dwo_table_base0
.Ldebug_ranges0:
	.byte	1
	.byte	0
	.byte	4
	.uleb128 .Ltmp4-.Lfunc_begin0
	.uleb128 .Ltmp5-.Lfunc_begin0
	.byte	4
	.uleb128 .Ltmp7-.Lfunc_begin0
	.uleb128 .Ltmp9-.Lfunc_begin0
	.byte	4
	.uleb128 .Ltmp11-.Lfunc_begin0
	.uleb128 .Ltmp13-.Lfunc_begin0
	.byte	4
	.uleb128 .Ltmp16-.Lfunc_begin0
	.uleb128 .Ltmp18-.Lfunc_begin0
	.byte	4
	.uleb128 .Ltmp23-.Lfunc_begin0
	.uleb128 .Ltmp24-.Lfunc_begin0
	.byte	0
.Ldebug_ranges1:
	.byte	1
	.byte	0
	.byte	4
	.uleb128 .Ltmp5-.Lfunc_begin0
	.uleb128 .Ltmp6-.Lfunc_begin0
	.byte	4
	.uleb128 .Ltmp9-.Lfunc_begin0
	.uleb128 .Ltmp10-.Lfunc_begin0
	.byte	4
	.uleb128 .Ltmp13-.Lfunc_begin0
	.uleb128 .Ltmp14-.Lfunc_begin0
	.byte	4
	.uleb128 .Ltmp18-.Lfunc_begin0
	.uleb128 .Ltmp19-.Lfunc_begin0
	.byte	4
	.uleb128 .Ltmp24-.Lfunc_begin0
	.uleb128 .Ltmp25-.Lfunc_begin0
	.byte	0
.Ldebug_list_header_end2:
	.section	.debug_addr,"",@progbits
	.long	.Ldebug_addr_end0-.Ldebug_addr_start0
.Ldebug_addr_start0:
	.short	5
	.byte	8
	.byte	0
.Laddr_table_base0:
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin1
	.quad	.Lfunc_begin2
	.quad	.Ltmp34
	.quad	.Ltmp35
.Ldebug_addr_end0:
	.section	".note.GNU-stack","",@progbits
	.section	.debug_line,"",@progbits
.Lline_table_start0:
